/* SPDX-License-Identifier: MIT */
/*
 * bench/impl.c - the implementations by name: weft, the pool, or weft with
 * another policy, whose name is the words of the policy.
 */
#include "bench/workloads.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weft/policy.h>

const struct bench_impl *const bench_impls[] = {
	&bench_weft,
	&bench_pool,
	NULL,
};

/* In use until the program ends, so they are never freed. */
static struct made {
	struct bench_impl impl;
	weft_policy policy;
	char name[BENCH_WORDS_BYTES];
} made[BENCH_POLICIES_MAX];

static size_t n_made;

static int make(const weft_policy *policy, const char *name,
	const struct bench_impl **im)
{
	struct made *m;

	for (size_t i = 0; i < n_made; i++) {
		if (strcmp(made[i].name, name) == 0) {
			*im = &made[i].impl;
			return 0;
		}
	}
	if (n_made == BENCH_POLICIES_MAX)
		return -ENOSPC;
	m = &made[n_made++];
	m->policy = *policy;
	(void)snprintf(m->name, sizeof(m->name), "%s", name);
	m->impl = bench_weft;
	m->impl.name = m->name;
	m->impl.what = "weft with this policy";
	m->impl.policy = &m->policy;
	*im = &m->impl;
	return 0;
}

int bench_impl_find(const char *name, const struct bench_impl **im, char *why,
	size_t why_bytes)
{
	char words[BENCH_WORDS_BYTES];
	weft_policy policy;
	int err;

	for (size_t i = 0; bench_impls[i] != NULL; i++) {
		if (strcmp(bench_impls[i]->name, name) == 0) {
			*im = bench_impls[i];
			return 0;
		}
	}
	err = weft_policy_parse(&policy, name, why, why_bytes);
	if (err)
		return err;
	err = weft_policy_print(&policy, words, sizeof(words));
	if (err >= 0)
		err = make(&policy, words, im);
	if (err)
		(void)snprintf(why, why_bytes, "%s", strerror(-err));
	return err;
}
