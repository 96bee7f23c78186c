/* SPDX-License-Identifier: MIT */
/*
 * rt/policy.c - the words for policies, and which policies are valid.
 */
#include "rt/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "queue/bounded.h"
#include "queue/runq_locked.h"
#include "sched/policy.h"

#define WF_POLICY_CHOICES 3
#define WF_POLICY_BOUNDED_MAX ((uint32_t)1 << 20)

/* A field, and the word for each of its values. */
struct dimension {
	const char *name;
	size_t offset;
	const char *word[WF_POLICY_CHOICES];
};

static const struct dimension dimensions[] = {
	{ "queue", offsetof(weft_policy, queue),
		{ "ws", "global-fifo", "bounded" } },
	{ "local", offsetof(weft_policy, local), { "atomic", "mutex" } },
	{ "steal", offsetof(weft_policy, steal),
		{ "steal-half", "steal-one" } },
	{ "take", offsetof(weft_policy, take),
		{ "take-share", "take-one", "take-all" } },
	{ "offload", offsetof(weft_policy, offload),
		{ "offload-half", "offload-one" } },
	{ "lifo", offsetof(weft_policy, lifo), { "lifo", "no-lifo" } },
	{ "wake", offsetof(weft_policy, wake),
		{ "wake-gate", "wake-go", "wake-flare" } },
	{ "locks", offsetof(weft_policy, locks),
		{ "short-locks", "lock-free" } },
};

static const size_t dimension_count =
	sizeof(dimensions) / sizeof(dimensions[0]);

static uint32_t get(const weft_policy *p, const struct dimension *d)
{
	uint32_t value;

	memcpy(&value, (const char *)p + d->offset, sizeof(value));
	return value;
}

static void set(weft_policy *p, const struct dimension *d, uint32_t value)
{
	memcpy((char *)p + d->offset, &value, sizeof(value));
}

static uint32_t choices(const struct dimension *d)
{
	uint32_t n = 0;

	while (n < WF_POLICY_CHOICES && d->word[n] != NULL)
		n++;
	return n;
}

const struct wf_runq_ops *wf_policy_runq(const weft_policy *p)
{
	return p->local == WEFT_LOCAL_MUTEX ? &wf_runq_locked_ops
					    : &wf_runq_ops;
}

/* Check the capacity, and fields that restrict each other. */
static int check_together(const weft_policy *p, char *why, size_t why_bytes)
{
	uint32_t cells = p->bounded_capacity;

	if (cells != 0 &&
		(!wf_is_pow2(cells) || cells < WF_BOUNDED_CAP_MIN ||
			cells > WF_POLICY_BOUNDED_MAX)) {
		snprintf(why, why_bytes,
			"policy.bounded_capacity is %" PRIu32
			", and must be a power of two from %d to %" PRIu32,
			cells, WF_BOUNDED_CAP_MIN, WF_POLICY_BOUNDED_MAX);
		return -EINVAL;
	}
	if (p->locks == WEFT_LOCKS_NONE && wf_policy_pushes(p)) {
		snprintf(why, why_bytes,
			"policy.locks is lock-free, and that goes only with "
			"policy.queue ws and policy.local atomic");
		return -EINVAL;
	}
	return 0;
}

int wf_policy_check(const weft_policy *p, char *why, size_t why_bytes)
{
	for (size_t i = 0; i < dimension_count; i++) {
		const struct dimension *d = &dimensions[i];

		if (get(p, d) >= choices(d)) {
			snprintf(why, why_bytes,
				"policy.%s is %" PRIu32
				", and must be from 0 to %" PRIu32,
				d->name, get(p, d), choices(d) - 1);
			return -EINVAL;
		}
	}
	return check_together(p, why, why_bytes);
}

/* The dimension that has this word, and its value; NULL: none has it. */
static const struct dimension *find(
	const char *word, size_t bytes, uint32_t *value)
{
	for (size_t i = 0; i < dimension_count; i++) {
		const struct dimension *d = &dimensions[i];

		for (*value = 0; *value < choices(d); (*value)++) {
			const char *w = d->word[*value];

			if (strlen(w) == bytes && memcmp(w, word, bytes) == 0)
				return d;
		}
	}
	return NULL;
}

/* Write that the word is unknown, and all words that are known. */
static void list_words(
	const char *word, size_t bytes, char *why, size_t why_bytes)
{
	int n = snprintf(why, why_bytes,
		"'%.*s' is no word of a policy; the words are", (int)bytes,
		word);

	for (size_t i = 0; i < dimension_count; i++) {
		for (uint32_t v = 0; v < choices(&dimensions[i]); v++) {
			size_t at = wf_min_size((size_t)n, why_bytes);

			n += snprintf(why_bytes ? why + at : NULL,
				why_bytes - at, " %s", dimensions[i].word[v]);
		}
	}
}

/* Set the field of one word in p; seen: a bit for each field set before. */
static int parse_word(weft_policy *p, const char *word, size_t bytes,
	uint32_t *seen, char *why, size_t why_bytes)
{
	const struct dimension *d;
	uint32_t value, bit;

	d = find(word, bytes, &value);
	if (d == NULL) {
		list_words(word, wf_min_size(bytes, 40), why, why_bytes);
		return -EINVAL;
	}
	bit = 1u << (d - dimensions);
	if ((*seen & bit) && get(p, d) != value) {
		snprintf(why, why_bytes, "'%s' and '%s' contradict each other",
			d->word[get(p, d)], d->word[value]);
		return -EINVAL;
	}
	*seen |= bit;
	set(p, d, value);
	return 0;
}

int weft_policy_parse(
	weft_policy *p, const char *words, char *why, size_t why_bytes)
{
	weft_policy policy = { 0 };
	uint32_t seen = 0;

	why_bytes = why != NULL ? why_bytes : 0;
	for (;;) {
		size_t bytes = strcspn(words, ",");
		int err = parse_word(
			&policy, words, bytes, &seen, why, why_bytes);

		if (err)
			return err;
		if (words[bytes] == '\0')
			break;
		words += bytes + 1;
	}
	if (check_together(&policy, why, why_bytes) != 0)
		return -EINVAL;
	*p = policy;
	return 0;
}

int weft_policy_print(const weft_policy *p, char *words, size_t bytes)
{
	int n = 0;

	if (wf_policy_check(p, NULL, 0) != 0)
		return -EINVAL;
	for (size_t i = 0; i < dimension_count; i++) {
		const struct dimension *d = &dimensions[i];
		size_t at = wf_min_size((size_t)n, bytes);

		if (get(p, d) != 0)
			n += snprintf(bytes ? words + at : NULL, bytes - at,
				"%s%s", n > 0 ? "," : "", d->word[get(p, d)]);
	}
	if (n == 0)
		n = snprintf(words, bytes, "%s", dimensions[0].word[0]);
	return (size_t)n < bytes ? n : -ENOSPC;
}
