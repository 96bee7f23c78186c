/* SPDX-License-Identifier: MIT */
/*
 * sim/shrink.c - make a list of decisions shorter.
 */
#include "sim/shrink.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/heap.h"
#include "sim/token.h"

#define WF_SIM_SHORT 16 /* length up to which all pairs are tried */

struct shrinking {
	struct wf_sim_decision *list, *trial;
	size_t count;
	const char *oracle;
	unsigned runs; /* that may still be made */
};

/* If the trial fails in the same way, it becomes the list. */
static bool attempt(struct shrinking *sh, size_t count)
{
	struct wf_sim_run how = { .mode = WF_SIM_LIST,
		.length = 1,
		.list = sh->trial,
		.list_count = count };

	if (sh->runs == 0)
		return false;
	sh->runs--;
	wf_sim_run(&how);
	if (!wf_sim->failure.failed ||
		strcmp(wf_sim->failure.oracle, sh->oracle) != 0 ||
		wf_sim->log_count > sh->count)
		return false;
	/* The log has no decisions without effect. */
	sh->count = wf_sim->log_count;
	memcpy(sh->list, wf_sim->log, sh->count * sizeof(*sh->list));
	wf_sim_token_sort(sh->list, sh->count);
	return true;
}

/*
 * Leave out parts of this size, from the last to the first; true: the list
 * became shorter.
 */
static bool leave_out(struct shrinking *sh, size_t part)
{
	size_t at = sh->count;
	bool some = false;

	while (at > 0 && sh->runs > 0) {
		size_t from = at > part ? at - part : 0, before = sh->count;

		memcpy(sh->trial, sh->list, from * sizeof(*sh->list));
		memcpy(sh->trial + from, sh->list + at,
			(before - at) * sizeof(*sh->list));
		if (attempt(sh, before - (at - from)) && sh->count < before)
			some = true;
		at = from < sh->count ? from : sh->count;
	}
	return some;
}

/* Try the list without decision j, and with decision i going to thread v. */
static bool without(struct shrinking *sh, size_t j, size_t i, unsigned v)
{
	size_t before = sh->count, n = 0;

	for (size_t k = 0; k < before; k++) {
		if (k == j)
			continue;
		sh->trial[n] = sh->list[k];
		if (k == i)
			sh->trial[n].value = (uint16_t)v;
		n++;
	}
	return attempt(sh, n) && sh->count < before;
}

/*
 * For a short list: leave out any two decisions, or make one switch of two;
 * true: the list became shorter.
 */
static bool refine(struct shrinking *sh)
{
	for (size_t j = 0; j < sh->count; j++)
		for (size_t i = 0; i < sh->count; i++) {
			uint32_t threads = wf_sim->threads;

			if (i == j || sh->list[i].kind != WF_SIM_THREAD)
				continue;
			for (unsigned v = 0; v < threads; v++)
				if (without(sh, j, i, v))
					return true;
		}
	for (size_t j = 1; j < sh->count; j++)
		for (size_t i = 0; i < j; i++) {
			size_t before = sh->count, n = 0;

			for (size_t k = 0; k < before; k++)
				if (k != i && k != j)
					sh->trial[n++] = sh->list[k];
			if (attempt(sh, n) && sh->count < before)
				return true;
		}
	return false;
}

size_t wf_sim_shrink(struct wf_sim_decision *list, size_t count,
	const char *oracle, unsigned max_runs)
{
	size_t bytes = (count + 1) * sizeof(*list);
	struct shrinking sh = {
		.list = list, .count = count, .oracle = oracle, .runs = max_runs
	};

	sh.trial = wf_sim_reserve(bytes);
	if (sh.trial == NULL)
		return count;
	for (size_t part = (count + 1) / 2; part > 0 && sh.runs > 0;) {
		bool some = leave_out(&sh, part);

		if (part > sh.count)
			part = (sh.count + 1) / 2;
		else if (!some || part > 1)
			part /= 2;
	}
	while (sh.count > 1 && sh.count <= WF_SIM_SHORT && refine(&sh))
		continue;
	(void)munmap(sh.trial, bytes);
	return sh.count;
}
