/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/runq_suite.h - what both kinds of run queue must do, alone.
 */
#ifndef WEFT_TESTS_QUEUE_RUNQ_SUITE_H
#define WEFT_TESTS_QUEUE_RUNQ_SUITE_H

#include "queue/runq.h"

/* Run all tests on one kind of queue; how many failed. */
int runq_suite(const struct wf_runq_ops *ops);

#endif
