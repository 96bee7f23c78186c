/* SPDX-License-Identifier: MIT */
/*
 * queue/entry.h - what a local queue holds: a task, or a ticket for one.
 *
 * An entry owns its task: who takes the entry runs the task.  A ticket, marked
 * by the lowest bit, does not: the task may have been run by other means, and
 * its memory reused for another task of the same kind, so who takes the ticket
 * must claim the task first and drop the ticket if that fails (it is dead).  A
 * number in the highest byte tells tickets for different uses of one memory
 * apart; it comes round again, so it is no proof.  Nothing but local queues and
 * slots ever holds a ticket, and only tasks at addresses below 2^56 have them.
 */
#ifndef WF_QUEUE_ENTRY_H
#define WF_QUEUE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/task.h>

/* 0 is no entry. */
typedef uintptr_t wf_entry;

/* Try to become the one who runs the task; false: the ticket is dead. */
typedef bool wf_claim_fn(wf_entry ticket);

#define WF_TICKET ((uintptr_t)1)
#define WF_TICKET_USE_SHIFT 56

static inline wf_entry wf_entry_of(weft_task *task)
{
	return (uintptr_t)task;
}

/* A ticket for one use of the memory of task: any number. */
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
