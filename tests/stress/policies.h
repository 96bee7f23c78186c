/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/policies.h - all policies there are, by number.
 */
#ifndef WEFT_TESTS_STRESS_POLICIES_H
#define WEFT_TESTS_STRESS_POLICIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weft/policy.h>

enum { POLICIES = 864 };

/* The nth, in words too; false: these choices exclude each other. */
static inline bool policy_nth(
	size_t n, weft_policy *p, char *words, size_t bytes)
{
	/* How many values each field has. */
	static const uint32_t radix[] = { 3, 2, 2, 3, 2, 2, 3, 2 };
	uint32_t *fields[] = { &p->queue, &p->local, &p->steal, &p->take,
		&p->offload, &p->lifo, &p->wake, &p->locks };

	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < sizeof(radix) / sizeof(radix[0]); i++) {
		*fields[i] = n % radix[i];
		n /= radix[i];
	}
	if (p->queue == WEFT_QUEUE_BOUNDED)
		p->bounded_capacity = 64;
	return weft_policy_print(p, words, bytes) > 0;
}

#endif
