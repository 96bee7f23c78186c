/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/runq_test.c - the lock-free run queue is first in first out and
 * moves exactly what each call promises (Q1, Q2, Q3).
 */
#include "queue/runq.h"
#include "runq_suite.h"

int main(void)
{
	return runq_suite(&wf_runq_ops);
}
