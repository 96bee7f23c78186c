/* SPDX-License-Identifier: MIT */
/*
 * exec/strand.h - is an executor a strand, and what does it lie over?
 *
 * Reads next: exec/strand.c
 */
#ifndef WF_EXEC_STRAND_H
#define WF_EXEC_STRAND_H

#include <weft/task.h>

/* The executor that e, a strand, lies over; NULL: e is not a strand. */
weft_executor *wf_strand_below(weft_executor *e);

#endif
