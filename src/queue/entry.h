/* SPDX-License-Identifier: MIT */
/*
 * queue/entry.h - an entry of a local queue: a task, or a ticket for one.
 *
 * An entry owns its task: the taker of the entry runs the task.  A ticket,
 * marked by the lowest bit, does not own it: another thread may have run the
 * task, and its memory may serve another task of the same kind.  So the taker
 * of a ticket must claim the task first, and drop the ticket if that fails (the
 * ticket is dead).  The highest byte has a number that differs between tickets
 * for different uses of one memory; it wraps around, so equal numbers prove
 * nothing.  Only local queues and slots hold tickets, and only tasks at
 * addresses below 2^56 have them.
 */
#ifndef WF_QUEUE_ENTRY_H
#define WF_QUEUE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/task.h>

/* 0 means: no entry. */
typedef uintptr_t wf_entry;

/* Claim the right to run the task of a ticket; false: the ticket is dead. */
typedef bool wf_claim_fn(wf_entry ticket);

#define WF_TICKET ((uintptr_t)1)
#define WF_TICKET_USE_SHIFT 56

static inline wf_entry wf_entry_of(weft_task *task)
{
	return (uintptr_t)task;
}

/* A ticket for one use of task's memory; use is any number. */
static inline wf_entry wf_entry_ticket(weft_task *task, uint8_t use)
{
	return (uintptr_t)task | WF_TICKET |
		(uintptr_t)use << WF_TICKET_USE_SHIFT;
}

static inline bool wf_entry_is_ticket(wf_entry e)
{
	return e & WF_TICKET;
}

static inline uint8_t wf_entry_use(wf_entry ticket)
{
	return (uint8_t)(ticket >> WF_TICKET_USE_SHIFT);
}

static inline weft_task *wf_entry_task(wf_entry e)
{
	uintptr_t use = (uintptr_t)0xff << WF_TICKET_USE_SHIFT;

	return (weft_task *)(e & WF_TICKET ? e & ~(use | WF_TICKET) : e);
}

#endif
