/* SPDX-License-Identifier: MIT */
/*
 * sim/token.h - a run in one line: name:mode:seed:params:build.
 *
 *	ring/two-thieves:walk:9f1c22:84:1f2e3d4c
 *	ring/two-thieves:pct:9f1c22:3.84:1f2e3d4c	depth, length
 *	ring/two-thieves:urw:9f1c22:84.30.27.25:...	length, of each thread
 *	ring/two-thieves:list:0:2.14t1,1.20s2:1f2e3d4c
 *
 * A list has every decision that is not the dull one: "2.14t1" is thread 2, at
 * its 14th point: thread 1 goes on; "1.20s2" thread 1, 20th point: the load
 * reads two stores back.  The letters are those of enum wf_sim_kind, in order:
 * t s w k u c f r e z.  "2.14.1k1" is the second of its kind at that point.
 */
#ifndef WF_SIM_TOKEN_H
#define WF_SIM_TOKEN_H

#include <stddef.h>

#include "sim/engine.h"

/* How much of a token fits into a report. */
#define WF_SIM_TOKEN_BYTES 1024

/*
 * Write the token of how; false: it does not fit, and text is "".  Lists are of
 * any length, so a large enough buffer is a matter of the caller's.
 */
bool wf_sim_token_print(char *text, size_t bytes, const char *name,
	const struct wf_sim_run *how);

/*
 * Read one, with decisions into list, of which there is room for max.  -EINVAL
 * if it is none; *build is the build it was made by.
 */
wf_must_check int wf_sim_token_parse(const char *text, struct wf_sim_run *how,
	struct wf_sim_decision *list, size_t max, uint32_t *build);

/* Is the token of a run of that name? */
bool wf_sim_token_is_of(const char *text, const char *name);

/* Put a list into the order that a run needs. */
void wf_sim_token_sort(struct wf_sim_decision *list, size_t count);

#endif
