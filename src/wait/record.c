/* SPDX-License-Identifier: MIT */
/*
 * wait/record.c - records come from the processor, or from the allocator.
 */
#include "wait/record.h"

#include "base/spares.h"
#include "os/os.h"
#include "sched/proc.h"
#include "sched/thread.h"

/* The spare records of the caller's processor; NULL: it holds none. */
static struct wf_spares *spares(void)
{
	struct wf_thread *t = wf_here();

	return t != NULL && !t->foreign ? &t->proc->spares : NULL;
}

void *wf_record_take(void)
{
	struct wf_spares *s = spares();
	void *record = s ? wf_spares_take(s) : NULL;

	return record ? record : wf_os_alloc(WF_RECORD_BYTES);
}

void wf_record_give(void *record)
{
	struct wf_spares *s = spares();

	if (s == NULL || !wf_spares_give(s, record))
		wf_os_free(record);
}
