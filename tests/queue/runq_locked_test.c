/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/runq_locked_test.c - the run queue under a lock is first in first
 * out and moves exactly what each call promises (Q1, Q2, Q3).
 */
#include "queue/runq_locked.h"
#include "runq_suite.h"

int main(void)
{
	return runq_suite(&wf_runq_locked_ops);
}
