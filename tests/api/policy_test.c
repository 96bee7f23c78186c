/* SPDX-License-Identifier: MIT */
/*
 * tests/api/policy_test.c - policies as words: which words are accepted,
 * which are refused and why, and that a printed policy can be read again.
 *
 * executor_policies_test.c and tests/stress/exec_policy_test.c run them.
 */
#include "api/api.h"

#include <weft/weft.h>

#include "os/child.h"

/* A field, and its words in the order of its values; the first is default. */
static const struct field {
	const char *name;
	size_t offset;
	const char *words[4];
} fields[] = {
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
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static uint32_t *value_of(weft_policy *p, const struct field *f)
{
	return (uint32_t *)((char *)p + f->offset);
}

static uint32_t values(const struct field *f)
{
	uint32_t n = 0;

	while (f->words[n])
		n++;
	return n;
}

/* The header's rule for combinations. */
static bool is_allowed(const weft_policy *p)
{
	return p->locks == WEFT_LOCKS_SHORT ||
		(p->queue == WEFT_QUEUE_STEALING &&
			p->local == WEFT_LOCAL_ATOMIC);
}

/* The nth of all combinations; false past the last. */
static bool combination(size_t n, weft_policy *p)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < FIELDS; i++) {
		*value_of(p, &fields[i]) = n % values(&fields[i]);
		n /= values(&fields[i]);
	}
	return n == 0;
}

static bool equal(const weft_policy *a, const weft_policy *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void assert_parses(const char *words, const weft_policy *wanted)
{
	weft_policy p;
	char why[300] = "untouched";

	memset(&p, 0xA5, sizeof(p));
	if (weft_policy_parse(&p, words, why, sizeof(why)) != 0)
		fail_msg("\"%s\": %s", words, why);
	if (!equal(&p, wanted))
		fail_msg("\"%s\" is something else", words);
	memset(&p, 0xA5, sizeof(p));
	assert_int_equal(weft_policy_parse(&p, words, NULL, 0), 0);
	assert_true(equal(&p, wanted));
}

/* Refused, with all of these in the sentence; p stays as it is. */
static void assert_refuses(
	const char *words, const char *const *said, size_t count)
{
	weft_policy p, before;
	char why[300] = "";

	memset(&p, 0xA5, sizeof(p));
	before = p;
	assert_int_equal(
		weft_policy_parse(&p, words, why, sizeof(why)), -EINVAL);
	assert_true(equal(&p, &before));
	for (size_t i = 0; i < count; i++)
		if (!strstr(why, said[i]))
			fail_msg("\"%s\": \"%s\" is not in: %s", words, said[i],
				why);
	assert_null(strchr(why, '\n'));
	assert_true(strlen(why) > 10);
	assert_int_equal(weft_policy_parse(&p, words, NULL, 0), -EINVAL);
}

/* ------------------------------------------------------------------------ */

static void every_word_sets_its_field(void **state)
{
	(void)state;
	for (size_t i = 0; i < FIELDS; i++) {
		for (uint32_t v = 0; v < values(&fields[i]); v++) {
			weft_policy p = { 0 };

			*value_of(&p, &fields[i]) = v;
			assert_parses(fields[i].words[v], &p);
		}
	}
}

static void words_come_in_any_order(void **state)
{
	weft_policy p = { .queue = WEFT_QUEUE_GLOBAL,
		.lifo = WEFT_LIFO_OFF,
		.wake = WEFT_WAKE_GO };

	(void)state;
	assert_parses("global-fifo,no-lifo,wake-go", &p);
	assert_parses("wake-go,no-lifo,global-fifo", &p);
	assert_parses("no-lifo,steal-half,global-fifo,short-locks,wake-go", &p);
	/* A word may come twice. */
	assert_parses("no-lifo,global-fifo,no-lifo,wake-go", &p);
}

/* Two words for one field, in either order. */
static void contradictions_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < FIELDS; i++) {
		uint32_t n = values(&fields[i]);

		for (uint32_t v = 0; v < n * n; v++) {
			const char *said[2] = { fields[i].words[v / n],
				fields[i].words[v % n] };
			char words[64];

			if (v / n == v % n)
				continue;
			snprintf(words, sizeof(words), "%s,%s", said[0],
				said[1]);
			assert_refuses(words, said, 2);
			snprintf(words, sizeof(words), "%s,wake-go,%s", said[0],
				said[1]);
			if (strcmp(fields[i].name, "wake") != 0)
				assert_refuses(words, said, 2);
		}
	}
}

/* The sentence has the word that is wrong, and all that are right. */
static void unknown_words_are_refused(void **state)
{
	static const char *const unknown[] = { "fast", "steal-none", "WS",
		"lifo ", "lockfree", "w", "wss", "steal-hal" };
	const char *said[40];

	(void)state;
	for (size_t u = 0; u < sizeof(unknown) / sizeof(unknown[0]); u++) {
		size_t n = 0;
		char words[64];

		said[n++] = unknown[u];
		for (size_t i = 0; i < FIELDS; i++)
			for (uint32_t v = 0; v < values(&fields[i]); v++)
				said[n++] = fields[i].words[v];
		assert_refuses(unknown[u], said, n);
		snprintf(words, sizeof(words), "no-lifo,%s", unknown[u]);
		assert_refuses(words, said, n);
		snprintf(words, sizeof(words), "%s,no-lifo", unknown[u]);
		assert_refuses(words, said, n);
	}
}

static void empty_words_are_refused(void **state)
{
	static const char *const empty[] = { ",", "ws,", ",ws", "ws,,no-lifo" };

	(void)state;
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		assert_refuses(empty[i], NULL, 0);
}

/* A sentence that does not fit is cut, and nothing is written behind it. */
static void a_sentence_is_cut_to_its_room(void **state)
{
	weft_policy p;
	char whole[300], why[300];

	(void)state;
	assert_int_equal(
		weft_policy_parse(&p, "fast", whole, sizeof(whole)), -EINVAL);
	for (size_t room = 0; room <= strlen(whole) + 2; room++) {
		memset(why, '#', sizeof(why));
		assert_int_equal(
			weft_policy_parse(&p, "fast", why, room), -EINVAL);
		assert_int_equal(why[room], '#');
		if (room > 0) {
			assert_true(strlen(why) < room);
			assert_int_equal(strncmp(why, whole, strlen(why)), 0);
		}
	}
}

/* ------------------------------------------------------------------------ */

/* weft_policy_print and weft_config_check refuse the same combinations. */
static void check_combination(weft_policy *p)
{
	weft_config cfg = { .workers = 1, .policy = p };
	char words[120], why[200];
	int n = weft_policy_print(p, words, sizeof(words));

	if (!is_allowed(p)) {
		assert_int_equal(n, -EINVAL);
		assert_int_equal(
			weft_config_check(&cfg, why, sizeof(why)), -EINVAL);
		assert_non_null(strstr(why, "policy"));
		return;
	}
	assert_true(n > 0);
	assert_int_equal(strlen(words), n);
	assert_parses(words, p);
	if (weft_config_check(&cfg, why, sizeof(why)) != 0)
		fail_msg("%s: %s", words, why);
}

static void what_is_printed_parses_to_the_same(void **state)
{
	weft_policy p;
	size_t n = 0;

	(void)state;
	while (combination(n, &p)) {
		check_combination(&p);
		n++;
	}
	printf("%zu combinations\n", n);
	assert_int_equal(n, 3 * 2 * 2 * 3 * 2 * 2 * 3 * 2);
}

/* Only what differs, or "ws". */
static void the_default_is_printed_as_ws(void **state)
{
	weft_policy p = { 0 };
	char words[120];

	(void)state;
	assert_int_equal(weft_policy_print(&p, words, sizeof(words)), 2);
	assert_string_equal(words, "ws");
	p.lifo = WEFT_LIFO_OFF;
	assert_int_equal(weft_policy_print(&p, words, sizeof(words)), 7);
	assert_string_equal(words, "no-lifo");
}

static void what_does_not_fit_is_not_printed(void **state)
{
	weft_policy p = { .queue = WEFT_QUEUE_GLOBAL, .wake = WEFT_WAKE_GO };
	char words[120];

	(void)state;
	for (size_t room = 0; room <= sizeof("global-fifo,wake-go"); room++) {
		int n;

		memset(words, '#', sizeof(words));
		n = weft_policy_print(&p, words, room);
		assert_int_equal(words[room], '#');
		if (room < sizeof("global-fifo,wake-go"))
			assert_int_equal(n, -ENOSPC);
		else
			assert_string_equal(words, "global-fifo,wake-go");
	}
}

/* ------------------------------------------------------------------------ */

/* In a child process, whose output we read. */
static void start_badly(void *arg)
{
	weft_rt *rt = arg;
	int err = weft_rt_start(&rt, arg);

	_exit(err == -EINVAL && rt == arg ? 0 : 1);
}

/* Check, print and start refuse p; the sentence names policy and field. */
static void assert_bad(const weft_policy *p, const char *field)
{
	weft_config cfg = { .workers = 1, .policy = p };
	char why[200] = "", words[120];
	struct child c;

	assert_int_equal(weft_config_check(&cfg, why, sizeof(why)), -EINVAL);
	if (!strstr(why, "policy") || !strstr(why, field))
		fail_msg("not a word of policy and %s: %s", field, why);
	assert_null(strchr(why, '\n'));
	assert_int_equal(weft_config_check(&cfg, NULL, 0), -EINVAL);
	assert_int_equal(weft_policy_print(p, words, sizeof(words)), -EINVAL);
	child_run(&c, start_badly, &cfg);
	assert_true(child_exited_with(&c, 0));
	assert_non_null(strstr(c.text, why));
	assert_ptr_equal(strchr(c.text, '\n'), c.text + c.text_bytes - 1);
}

/* Children first: they are forked before any thread was here. */
static void a_bad_policy_is_refused_by_its_field(void **state)
{
	(void)state;
	for (size_t i = 0; i < FIELDS; i++) {
		weft_policy p = { 0 };

		*value_of(&p, &fields[i]) = values(&fields[i]);
		assert_bad(&p, fields[i].name);
		*value_of(&p, &fields[i]) = UINT32_MAX;
		assert_bad(&p, fields[i].name);
	}
}

static void a_bad_capacity_is_refused(void **state)
{
	static const uint32_t bad[] = { 1, 3, 6, 100, 65535, 65537,
		(1 << 20) + 1, 1 << 21, UINT32_MAX };
	static const uint32_t good[] = { 2, 4, 1 << 10, 1 << 20 };
	weft_policy p = { .queue = WEFT_QUEUE_BOUNDED };
	weft_config cfg = { .workers = 1, .policy = &p };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		p.bounded_capacity = bad[i];
		assert_bad(&p, "bounded_capacity");
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		p.bounded_capacity = good[i];
		assert_int_equal(weft_config_check(&cfg, NULL, 0), 0);
	}
}

/* The sentence has the words that would be right. */
static void no_locks_go_with_few(void **state)
{
	static const char *const said[] = { "lock-free", "ws", "atomic" };
	weft_policy mutex = { .local = WEFT_LOCAL_MUTEX,
		.locks = WEFT_LOCKS_NONE };
	weft_policy bounded = { .queue = WEFT_QUEUE_BOUNDED,
		.locks = WEFT_LOCKS_NONE };
	weft_policy global = { .queue = WEFT_QUEUE_GLOBAL,
		.locks = WEFT_LOCKS_NONE };

	(void)state;
	assert_bad(&mutex, "local");
	assert_bad(&bounded, "queue");
	assert_bad(&global, "queue");
	assert_refuses("lock-free,mutex", said, 3);
	assert_refuses("bounded,no-lifo,lock-free", said, 3);
	assert_refuses("lock-free,global-fifo", said, 3);
}

/* ------------------------------------------------------------------------ */

/* The policy is copied: the caller of weft_rt_start may free it. */
static void a_runtime_keeps_no_pointer_to_it(void **state)
{
	(void)state;
	for (size_t n = 0; n < 864; n += 5) {
		weft_policy *p = malloc(sizeof(*p));
		weft_config cfg = { .workers = 1 + n % 3, .policy = p };
		weft_fiber *f[20];
		weft_rt *rt;

		assert_non_null(p);
		combination(n, p);
		if (!is_allowed(p)) {
			free(p);
			continue;
		}
		rt = rt_begin(&cfg);
		memset(p, 0xA5, sizeof(*p));
		free(p);
		for (uintptr_t i = 0; i < 20; i++)
			assert_int_equal(
				weft_rt_spawn(rt, &f[i], NULL, echo, (void *)i),
				0);
		for (uintptr_t i = 0; i < 20; i++) {
			void *result;

			assert_int_equal(weft_join(f[i], &result, PATIENCE), 0);
			assert_ptr_equal(result, i);
		}
		rt_end(rt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_sets_its_field),
		cmocka_unit_test(words_come_in_any_order),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(unknown_words_are_refused),
		cmocka_unit_test(empty_words_are_refused),
		cmocka_unit_test(a_sentence_is_cut_to_its_room),
		cmocka_unit_test(what_is_printed_parses_to_the_same),
		cmocka_unit_test(the_default_is_printed_as_ws),
		cmocka_unit_test(what_does_not_fit_is_not_printed),
		cmocka_unit_test(a_bad_policy_is_refused_by_its_field),
		cmocka_unit_test(a_bad_capacity_is_refused),
		cmocka_unit_test(no_locks_go_with_few),
		cmocka_unit_test(a_runtime_keeps_no_pointer_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
