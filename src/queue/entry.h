/* SPDX-License-Identifier: MIT */
/*
 * queue/entry.h - what a local queue holds: a task pointer and one tag bit.
 *
 * An untagged entry owns its task: who takes the entry runs the task.  A tagged
 * one is only a claim ticket: the task may have been run by other means, and
 * its memory reused for another task of the same kind, so who takes the entry
 * must claim the task first and drop the entry if that fails (it is dead).
 * Nothing but a local queue ever holds a tagged entry.
 */
#ifndef WF_QUEUE_ENTRY_H
#define WF_QUEUE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/task.h>

/* 0 is no entry. */
typedef uintptr_t wf_entry;

/* Try to become the one who runs task; false: the entry is dead. */
typedef bool wf_claim_fn(weft_task *task);

static inline wf_entry wf_entry_of(weft_task *task)
{
	return (uintptr_t)task;
}

static inline wf_entry wf_entry_ticket(weft_task *task)
{
	return (uintptr_t)task | 1;
}

static inline bool wf_entry_is_ticket(wf_entry e)
{
	return e & 1;
}

static inline weft_task *wf_entry_task(wf_entry e)
{
	return (weft_task *)(e & ~(uintptr_t)1);
}

#endif
