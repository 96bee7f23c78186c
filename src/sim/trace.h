/* SPDX-License-Identifier: MIT */
/*
 * sim/trace.h - the trace: a readable account of a run.
 *
 * While wf_sim->tracing is set, every point leaves an event.  A failing run is
 * repeated with it set, so other runs do not pay for tracing.
 */
#ifndef WF_SIM_TRACE_H
#define WF_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/compiler.h"

struct wf_sim_event {
	uint32_t step;
	uint8_t thread;
	uint8_t stale;		/* newer stores that a load did not read */
	uint8_t size;
	int8_t order;		/* __ATOMIC_*, or -1 */
	const char *what;	/* "load", "futex_wait", ... */
	const void *addr;	/* or NULL */
	uint64_t before, after;	/* values */
	bool has_before, has_after;
	uintptr_t pc;
	char note[40];
};

wf_must_check int wf_sim_trace_open(void);
void wf_sim_trace_reset(void);

void wf_sim_trace_event(const struct wf_sim_event *e);
void wf_sim_trace_plain(
	const void *p, unsigned mask, bool write, uintptr_t pc);

/* Add an event that is only text. */
void wf_sim_trace_note(const char *what, uintptr_t pc, const char *fmt, ...)
	wf_printf(3, 4);

/* A name for an address: "block #3 + 16", "ring.head", "stack of 2". */
const char *wf_sim_trace_place(const void *p);
void wf_sim_trace_name(const void *p, size_t bytes, const char *name);

/* Print the events, with source lines where they can be found. */
void wf_sim_trace_print(FILE *out);

#endif
