/* SPDX-License-Identifier: MIT */
/*
 * wait/record.h - memory for the record of a wait that may outlive the function
 * that waits.
 *
 * Most waiters lie in the frame of their function.  A waiter that gives up
 * cannot leave the list of a lock-free object: the record stays there until
 * another thread takes it out and gives it back.  Each processor keeps a few
 * spare ones, so a wait does not call the allocator again and again.
 *
 * Reads next: sync/mutex_waiters.h
 */
#ifndef WF_WAIT_RECORD_H
#define WF_WAIT_RECORD_H

#include "base/compiler.h"

#define WF_RECORD_BYTES 192

/* Inside.  NULL: no memory.  The memory is not cleared. */
wf_must_check void *wf_record_take(void);

/* Inside, by any thread. */
void wf_record_give(void *record);

#endif
