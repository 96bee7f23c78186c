/* SPDX-License-Identifier: MIT */
/*
 * sim/token.h - a run in one line: name:mode:seed:params:build.
 *
 *	ring/two-thieves:walk:9f1c22:84:1f2e3d4c
 *	ring/two-thieves:pct:9f1c22:3.84:1f2e3d4c	depth, length
 *	ring/two-thieves:urw:9f1c22:84.30.27.25:...	length, of each thread
 *	ring/two-thieves:list:0:2.14t1,1.20s2:1f2e3d4c
 *
 * A list has every decision that is not the dull one: "2.14t1" means that at
 * the 14th point of thread 2, thread 1 continues; "1.20s2" that at the 20th
 * point of thread 1, its load reads two stores back.  The letters are those of
 * enum wf_sim_kind, in order: t s w k u c f r e z b.  "2.14.1k1" is the second
 * of its kind at that point.
 */
#ifndef WF_SIM_TOKEN_H
#define WF_SIM_TOKEN_H

#include <stddef.h>

#include "sim/engine.h"

/* Room for a token in a report. */
#define WF_SIM_TOKEN_BYTES 1024

/*
 * Write the token of how; false: it does not fit, and text is "".  A list may
 * have any length; the caller provides a large enough buffer.
 */
bool wf_sim_token_print(char *text, size_t bytes, const char *name,
	const struct wf_sim_run *how);

/*
 * Read a token; its decisions go to list, which has room for max.  -EINVAL if
 * text is not a token; *build is the build that made it.
 */
wf_must_check int wf_sim_token_parse(const char *text, struct wf_sim_run *how,
	struct wf_sim_decision *list, size_t max, uint32_t *build);

/* Whether the token is of a run of that name. */
bool wf_sim_token_is_of(const char *text, const char *name);

/* Sort a list as a run needs it. */
void wf_sim_token_sort(struct wf_sim_decision *list, size_t count);

#endif
