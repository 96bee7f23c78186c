/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/lab_kinds.h - configurations of the laboratory: each choice alone,
 * some together, and all pairs of choices.
 */
#ifndef WEFT_TESTS_EXEC_LAB_KINDS_H
#define WEFT_TESTS_EXEC_LAB_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "exec/lab.h"

/* A field of struct wf_lab_config and the values that tests try. */
struct lab_field {
	const char *name;
	size_t offset;
	size_t count;
	uint32_t values[5];
};

#define LAB_FIELD(name, n, ...) \
	{ #name, offsetof(struct wf_lab_config, name), n, { __VA_ARGS__ } }

static const struct lab_field lab_fields[] = {
	LAB_FIELD(workers, 4, 2, 1, 3, 4),
	LAB_FIELD(queues, 3, WF_LAB_LOCAL, WF_LAB_GLOBAL, WF_LAB_BOUNDED),
	LAB_FIELD(local, 3, WF_LAB_RING, WF_LAB_RING_LOCKED, WF_LAB_LIST),
	LAB_FIELD(local_capacity, 3, 256, 2, 16),
	LAB_FIELD(bounded_capacity, 3, 65536, 2, 16),
	LAB_FIELD(steal, 2, WF_LAB_STEAL_HALF, WF_LAB_STEAL_ONE),
	LAB_FIELD(victims, 2, WF_LAB_VICTIMS_ALL, WF_LAB_VICTIMS_ONE),
	LAB_FIELD(take, 3, WF_LAB_TAKE_SHARE, WF_LAB_TAKE_ONE, WF_LAB_TAKE_ALL),
	LAB_FIELD(offload, 2, WF_LAB_OFFLOAD_HALF, WF_LAB_OFFLOAD_ONE),
	LAB_FIELD(global_every, 5, 61, 0, 1, 2, 7),
	LAB_FIELD(yield, 2, WF_LAB_YIELD_GLOBAL, WF_LAB_YIELD_LOCAL),
	LAB_FIELD(lifo, 2, 1, 0),
	LAB_FIELD(lifo_limit, 3, 3, 1, 0),
	LAB_FIELD(wake, 3, WF_LAB_WAKE_GO, WF_LAB_WAKE_EVERY,
		WF_LAB_WAKE_FLARE),
	LAB_FIELD(spins, 3, 10, 0, 1000),
};
enum { LAB_FIELDS = sizeof(lab_fields) / sizeof(lab_fields[0]) };

static inline uint32_t *lab_field_of(struct wf_lab_config *c, size_t f)
{
	return (uint32_t *)((char *)c + lab_fields[f].offset);
}

/* The values of c that differ from the default, in words. */
static inline const char *lab_words(
	const struct wf_lab_config *c, char *words, size_t bytes)
{
	struct wf_lab_config def = wf_lab_default, own = *c;
	size_t used = 0;

	snprintf(words, bytes, "default");
	for (size_t f = 0; f < LAB_FIELDS && used < bytes; f++)
		if (*lab_field_of(&own, f) != *lab_field_of(&def, f))
			used += (size_t)snprintf(words + used, bytes - used,
				"%s=%u ", lab_fields[f].name,
				*lab_field_of(&own, f));
	return words;
}

/* ------------------------------------------------------------------------ */
/* All pairs: every two values of every two fields stand in some row. */

enum { LAB_VALUES = 5, LAB_PAIRS_MAX = 200, LAB_DRAWS = 40 };

struct lab_pairs {
	bool seen[LAB_FIELDS][LAB_VALUES][LAB_FIELDS][LAB_VALUES];
	struct wf_lab_config rows[LAB_PAIRS_MAX];
	size_t count;
};

/* How many new pairs the row of these choices has; mark them if asked. */
static inline size_t lab_new_pairs(
	struct lab_pairs *p, const size_t row[LAB_FIELDS], bool mark)
{
	size_t fresh = 0;

	for (size_t f = 0; f < LAB_FIELDS; f++)
		for (size_t g = 0; g < f; g++) {
			bool *seen = &p->seen[f][row[f]][g][row[g]];

			fresh += !*seen;
			*seen |= mark;
		}
	return fresh;
}

static inline bool lab_find_missing(
	struct lab_pairs *p, size_t *f, size_t *v, size_t *g, size_t *u)
{
	for (*f = 0; *f < LAB_FIELDS; ++*f)
		for (*v = 0; *v < lab_fields[*f].count; ++*v)
			for (*g = 0; *g < *f; ++*g)
				for (*u = 0; *u < lab_fields[*g].count; ++*u)
					if (!p->seen[*f][*v][*g][*u])
						return true;
	return false;
}

/*
 * Each row has a pair that is missing so far.  Its other values are drawn some
 * times, and the draw with the most new pairs is kept.
 */
static inline void lab_pairs_make(struct lab_pairs *p, uint64_t seed)
{
	struct wf_random random;
	size_t f, v, g, u;

	memset(p, 0, sizeof(*p));
	wf_random_seed(&random, seed);
	while (p->count < LAB_PAIRS_MAX &&
		lab_find_missing(p, &f, &v, &g, &u)) {
		size_t best[LAB_FIELDS] = { 0 }, most = 0;

		for (size_t i = 0; i < LAB_DRAWS; i++) {
			size_t row[LAB_FIELDS];

			for (size_t j = 0; j < LAB_FIELDS; j++)
				row[j] = wf_random_below(&random,
					(uint32_t)lab_fields[j].count);
			row[f] = v;
			row[g] = u;
			if (lab_new_pairs(p, row, false) > most) {
				most = lab_new_pairs(p, row, false);
				memcpy(best, row, sizeof(best));
			}
		}
		(void)lab_new_pairs(p, best, true);
		for (size_t j = 0; j < LAB_FIELDS; j++)
			*lab_field_of(&p->rows[p->count], j) =
				lab_fields[j].values[best[j]];
		p->count++;
	}
}

#endif
