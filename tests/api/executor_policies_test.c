/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_policies_test.c - with every policy a runtime passes the
 * suite of all executors (R1.7, R2.16).
 */
#include "api/executor_suite.h"

static const char *const policies[] = {
	/* Each word alone. */
	"ws",
	"global-fifo",
	"bounded",
	"atomic",
	"mutex",
	"steal-half",
	"steal-one",
	"take-share",
	"take-one",
	"take-all",
	"offload-half",
	"offload-one",
	"lifo",
	"no-lifo",
	"wake-gate",
	"wake-go",
	"wake-flare",
	"short-locks",
	"lock-free",
	/* Some together. */
	"global-fifo,no-lifo,wake-go",
	"global-fifo,take-all,wake-flare",
	"bounded,wake-flare",
	"bounded,no-lifo,wake-go",
	"mutex,steal-one,take-one,offload-one",
	"mutex,take-all,no-lifo,wake-flare",
	"steal-one,offload-one,wake-go",
	"take-all,offload-one,no-lifo,wake-flare",
	"lock-free,no-lifo",
	"lock-free,wake-go,steal-one",
	"lock-free,wake-flare,take-one",
	"lock-free,take-all,offload-one,no-lifo,wake-go",
};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

static struct kind policy_kinds[POLICIES];

int main(void)
{
	struct CMUnitTest tests[POLICIES] = { 0 };

	for (size_t i = 0; i < POLICIES; i++) {
		struct kind *k = &policy_kinds[i];
		char why[300] = "";

		*k = (struct kind){ .name = policies[i], .ops = &rt_ops };
		k->threads = (unsigned[]){ 2, 1, 4 }[i % 3];
		if (weft_policy_parse(
			    &k->policy, policies[i], why, sizeof(why)) != 0) {
			fprintf(stderr, "%s: %s\n", policies[i], why);
			return 1;
		}
		/* Little room, so that what overflows is seen. */
		if (k->policy.queue == WEFT_QUEUE_BOUNDED)
			k->policy.bounded_capacity = i % 2 ? 4 : 64;
		tests[i].name = policies[i];
		tests[i].test_func = executor_suite;
		tests[i].initial_state = k;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
