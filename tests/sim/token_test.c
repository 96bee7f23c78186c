/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/token_test.c - every printed token can be read again, and other
 * text is not a token.
 */
#include "sim/sim_kit.h"

#include "base/random.h"
#include "sim/token.h"

#define MANY 5000

static char text[1 << 20], again[1 << 20];
static struct wf_sim_decision list[MANY], read_list[MANY];

static int open_simulator(void **state)
{
	return kit_setup(state) != 0 || wf_sim_open() != 0;
}

static int parse(const char *token, struct wf_sim_run *how)
{
	uint32_t build;

	return wf_sim_token_parse(token, how, read_list, MANY, &build);
}

static void refused(const char *token)
{
	struct wf_sim_run how;

	if (parse(token, &how) != -EINVAL)
		fail_msg("\"%s\" is read as a token", token);
}

static void accepted(const char *token)
{
	struct wf_sim_run how;

	if (parse(token, &how) != 0)
		fail_msg("\"%s\" is not read", token);
}

/* Printed, read, and printed once more. */
static void round_trip(const struct wf_sim_run *how, struct wf_sim_run *back)
{
	assert_true(wf_sim_token_print(text, sizeof(text), "a/b", how));
	if (parse(text, back) != 0)
		fail_msg("cannot be read again: %.200s", text);
	assert_true(wf_sim_token_print(again, sizeof(again), "a/b", back));
	assert_string_equal(text, again);
	assert_int_equal(back->mode, how->mode);
	assert_true(back->seed == how->seed);
}

static void random_modes_round_trip(void **state)
{
	static const uint32_t modes[] = { WEFT_SIM_WALK, WEFT_SIM_PCT,
		WEFT_SIM_URW };
	static const uint64_t seeds[] = { 0, 1, 0x9f1c22, UINT64_MAX };
	struct wf_sim_run back;

	(void)state;
	for (unsigned m = 0; m < 3; m++)
		for (unsigned i = 0; i < 4; i++) {
			struct wf_sim_run how = { .mode = modes[m],
				.seed = seeds[i],
				.length = 84 + i };

			if (modes[m] == WEFT_SIM_PCT)
				how.depth = 2 + i;
			if (modes[m] == WEFT_SIM_URW)
				for (unsigned t = 0; t < 1 + 4 * i; t++)
					how.share[t] = 30 - t;
			round_trip(&how, &back);
			assert_int_equal(back.length, how.length);
			assert_int_equal(back.depth, how.depth);
			assert_memory_equal(
				back.share, how.share, sizeof(how.share));
		}
}

static void an_idle_thread_has_a_share_of_nothing(void **state)
{
	struct wf_sim_run back,
		how = { .mode = WEFT_SIM_URW,
			.seed = 1,
			.length = 9,
			.share = { 3, 0, 5 } };

	(void)state;
	round_trip(&how, &back);
	assert_memory_equal(back.share, how.share, sizeof(how.share));
}

/* Every kind, in the order that a run needs. */
static size_t all_kinds(void)
{
	size_t n = 0;

	for (unsigned t = 0; t < WF_SIM_THREADS; t++)
		for (unsigned k = 0; k < WF_SIM_KINDS; k++)
			list[n++] = (struct wf_sim_decision){ .at = 14 +
					100 * t,
				.value = (uint16_t)(k == WF_SIM_THREAD ? t
								       : k + 1),
				.thread = (uint8_t)t,
				.kind = (uint8_t)k,
				.sub = (uint8_t)(k % 3) };
	list[n++] = (struct wf_sim_decision){ .at = UINT32_MAX,
		.value = UINT16_MAX,
		.thread = 14,
		.kind = WF_SIM_EITHER,
		.sub = 255 };
	return n;
}

static void assert_same(const struct wf_sim_run *how, size_t n)
{
	assert_int_equal(how->list_count, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(how->list[i].at, list[i].at);
		assert_int_equal(how->list[i].value, list[i].value);
		assert_int_equal(how->list[i].thread, list[i].thread);
		assert_int_equal(how->list[i].kind, list[i].kind);
		assert_int_equal(how->list[i].sub, list[i].sub);
	}
}

static void lists_of_all_kinds_round_trip(void **state)
{
	struct wf_sim_run back,
		how = { .mode = WF_SIM_LIST,
			.list = list,
			.list_count = all_kinds() };

	(void)state;
	round_trip(&how, &back);
	assert_same(&back, how.list_count);
	how.list_count = 0;
	round_trip(&how, &back);
	assert_int_equal(back.list_count, 0);
}

/* As the header has it. */
static void letters_are_those_of_the_header(void **state)
{
	struct wf_sim_run how;

	(void)state;
	assert_int_equal(parse("ring:list:0:2.14t1,1.20s2,2.14.1k1,3.5w1,3.6u1,"
			       "3.7c1,3.8f1,3.9r4,4.1e2,4.2z1,4.3b2:"
			       "1f2e3d4c",
				 &how),
		0);
	list[0] = (struct wf_sim_decision){ 20, 2, 1, WF_SIM_STORE, 0 };
	list[1] = (struct wf_sim_decision){ 14, 1, 2, WF_SIM_THREAD, 0 };
	list[2] = (struct wf_sim_decision){ 14, 1, 2, WF_SIM_WAKE, 1 };
	list[3] = (struct wf_sim_decision){ 5, 1, 3, WF_SIM_WEAK, 0 };
	list[4] = (struct wf_sim_decision){ 6, 1, 3, WF_SIM_SPURIOUS, 0 };
	list[5] = (struct wf_sim_decision){ 7, 1, 3, WF_SIM_TIME, 0 };
	list[6] = (struct wf_sim_decision){ 8, 1, 3, WF_SIM_FAULT, 0 };
	list[7] = (struct wf_sim_decision){ 9, 4, 3, WF_SIM_RANDOM, 0 };
	list[8] = (struct wf_sim_decision){ 1, 2, 4, WF_SIM_EITHER, 0 };
	list[9] = (struct wf_sim_decision){ 2, 1, 4, WF_SIM_FREEZE, 0 };
	list[10] = (struct wf_sim_decision){ 3, 2, 4, WF_SIM_BUDGET, 0 };
	assert_same(&how, 11);
}

/* A token as the header shows it, but for the build. */
static void looks_like(const struct wf_sim_run *how, const char *expected)
{
	assert_true(wf_sim_token_print(text, sizeof(text), "ring/two", how));
	*(strrchr(text, ':') + 1) = '\0';
	assert_string_equal(text, expected);
}

static void tokens_are_those_of_the_header(void **state)
{
	struct wf_sim_run how = {
		.mode = WEFT_SIM_WALK, .seed = 0x9f1c22, .length = 84
	};

	(void)state;
	looks_like(&how, "ring/two:walk:9f1c22:84:");
	how.mode = WEFT_SIM_PCT;
	how.depth = 3;
	looks_like(&how, "ring/two:pct:9f1c22:3.84:");
	how.mode = WEFT_SIM_URW;
	how.share[0] = 30;
	how.share[1] = 27;
	how.share[2] = 25;
	looks_like(&how, "ring/two:urw:9f1c22:84.30.27.25:");
	how = (struct wf_sim_run){
		.mode = WF_SIM_LIST, .list = list, .list_count = 3
	};
	list[0] = (struct wf_sim_decision){ 20, 2, 1, WF_SIM_STORE, 0 };
	list[1] = (struct wf_sim_decision){ 14, 1, 2, WF_SIM_THREAD, 0 };
	list[2] = (struct wf_sim_decision){ 14, 1, 2, WF_SIM_WAKE, 1 };
	looks_like(&how, "ring/two:list:0:1.20s2,2.14t1,2.14.1k1:");
}

static void build_is_told(void **state)
{
	struct wf_sim_run how;
	uint32_t build = 0;

	(void)state;
	assert_int_equal(wf_sim_token_parse("a:walk:1:1:1f2e3d4c", &how,
				 read_list, MANY, &build),
		0);
	assert_int_equal(build, 0x1f2e3d4c);
}

/* A name is for people: characters that would confuse the parser go. */
static void names_cannot_break_a_token(void **state)
{
	struct wf_sim_run back, how = { .mode = WEFT_SIM_WALK, .length = 1 };

	(void)state;
	assert_true(wf_sim_token_print(text, sizeof(text), "a:b c", &how));
	assert_true(strncmp(text, "a_b_c:walk:", 11) == 0);
	assert_int_equal(parse(text, &back), 0);
	assert_true(wf_sim_token_print(text, sizeof(text), "", &how));
	assert_int_equal(parse(text, &back), 0);
}

static void what_does_not_fit_is_nothing(void **state)
{
	struct wf_sim_run how = {
		.mode = WF_SIM_LIST, .list = list, .list_count = all_kinds()
	};
	size_t length;

	(void)state;
	assert_true(wf_sim_token_print(text, sizeof(text), "a", &how));
	length = strlen(text);
	assert_true(wf_sim_token_print(again, length + 1, "a", &how));
	assert_string_equal(text, again);
	for (size_t bytes = 1; bytes <= length; bytes++) {
		again[0] = again[bytes] = 'x';
		assert_false(wf_sim_token_print(again, bytes, "a", &how));
		assert_int_equal(again[0], '\0');
		assert_int_equal(again[bytes], 'x');
	}
}

static const char *const good[] = {
	"ring/two:walk:9f1c22:84:1f2e3d4c",
	"ring/two:pct:9f1c22:3.84:1f2e3d4c",
	"ring/two:urw:9f1c22:84.30.27.25:1f2e3d4c",
	"ring/two:list:0:2.14t1,1.20s2,2.14.1k1:1f2e3d4c",
};

#define GOOD (sizeof(good) / sizeof(good[0]))

/* Up to the last field; a shorter build is another build. */
static void every_truncated_token_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < GOOD; i++) {
		size_t whole = (size_t)(strrchr(good[i], ':') - good[i]) + 1;

		accepted(good[i]);
		for (size_t n = 0; n <= whole; n++) {
			memcpy(text, good[i], n);
			text[n] = '\0';
			refused(text);
		}
	}
}

/*
 * One byte is another.  It may still be a token if a digit became a digit, or
 * a kind another kind; everything else is refused, and nothing is worse.
 */
static void every_broken_byte_is_refused(void **state)
{
	static const char harmless[] = "0123456789abcdefABCDEF.,:tswkucfrez";

	(void)state;
	for (size_t i = 0; i < GOOD; i++) {
		size_t from = (size_t)(strchr(good[i], ':') - good[i]);

		for (size_t at = from; good[i][at] != '\0'; at++)
			for (int c = 1; c < 256; c++) {
				struct wf_sim_run how;

				if (c == good[i][at])
					continue;
				strcpy(text, good[i]);
				text[at] = (char)c;
				if (strchr(harmless, c) != NULL)
					(void)parse(text, &how);
				else
					refused(text);
			}
	}
}

static void rubbish_is_refused(void **state)
{
	struct wf_random random = { .state = 1 };

	(void)state;
	for (int i = 0; i < 20000; i++) {
		static const char signs[] = "0123456789abcdef.,:-+ \ttswkuz";
		const char *mode = i % 2 == 0 ? "a:list:0:" : "a:urw:1:";
		size_t n = strlen(strcpy(text, mode));
		unsigned more = wf_random_below(&random, 40);
		struct wf_sim_run how;

		for (unsigned k = 0; k < more; k++)
			text[n++] = signs[wf_random_below(
				&random, sizeof(signs) - 1)];
		text[n] = '\0';
		/* Those that are tokens are written as tokens are. */
		if (parse(text, &how) == 0 && strpbrk(text, "-+ \t") != NULL)
			fail_msg("\"%s\" is read as a token", text);
	}
}

static void numbers_have_limits(void **state)
{
	static const char *const tokens[] = {
		"a:list:0:15.1s1:1",	     /* a thread that cannot be */
		"a:list:0:0.4294967296s1:1", /* a point */
		"a:list:0:0.1.256k1:1",	     /* a sub */
		"a:list:0:0.1s65536:1",	     /* a value */
		"a:list:0:0.1t15:1",	     /* to a thread that cannot be */
		"a:list:10000000000000000:0.1s1:1",
		"a:list:0:0.1s1:100000000", /* a build */
		"a:pct:1:0.84:1",
		"a:pct:1:9.84:1",
		"a:pct:1:84:1",
		"a:walk:1:0:1",
		"a:urw:1:0.1:1",
		"a:pct:1:2.0:1",
		"a:walk:1:4294967296:1",
		"a:urw:1:1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1:1",
	};

	(void)state;
	accepted("a:list:0:14.4294967295.255k65535:ffffffff");
	accepted("a:list:ffffffffffffffff:0.1t14:1");
	accepted("a:pct:1:8.84:1");
	accepted("a:urw:1:1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1:1");
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
		refused(tokens[i]);
}

static void other_texts_are_refused(void **state)
{
	static const char *const tokens[] = { "", ":",
		"::", ":::", "::::", "walk", "a:walk", "a:walk:1", "a:walk:1:1",
		"a:bounded:1:1:1", "a:Walk:1:1:1", "a:wal:1:1:1",
		"a:walks:1:1:1", "a::1:1:1", "a:walk:-1:1:1", "a:walk:+1:1:1",
		"a:walk: 1:1:1", "a:walk:\t1:1:1",
		"a:walk:1:1:1:", "a:walk:1:1:1 ", "a:walk:1:1.5:1",
		"a:pct:1:2.84.3:1", "a:walk:0x1:1:1", "a:list:0:,:1",
		"a:list:0:0.1s1,:1", "a:list:0:,0.1s1:1", "a:list:0:0.1:1",
		"a:list:0:0s1:1", "a:list:0:0.1q1:1", "a:list:0:0.1s:1",
		"a:list:0:0.1.s1:1", "a:list:0:.1s1:1",
		"a:list:0:0.1s1;1.1s1:1", "a:list:0:0.1s1 :1",
		"a:list:0:0. 1s1:1", "a:list:0:0.1s-1:1" };

	(void)state;
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
		refused(tokens[i]);
}

static void too_many_decisions_are_refused(void **state)
{
	struct wf_sim_run how;
	uint32_t build;
	struct wf_sim_decision few[2];

	(void)state;
	assert_int_equal(wf_sim_token_parse("a:list:0:0.1s1,0.2s1:1", &how, few,
				 2, &build),
		0);
	assert_int_equal(wf_sim_token_parse("a:list:0:0.1s1,0.2s1,0.3s1:1",
				 &how, few, 2, &build),
		-EINVAL);
}

/* Any order will do for people; a run needs one. */
static void a_list_is_sorted(void **state)
{
	struct wf_random random = { .state = 3 };
	size_t n = all_kinds();

	(void)state;
	memcpy(read_list, list, n * sizeof(*list));
	for (size_t i = n; i > 1; i--) {
		size_t k = wf_random_below(&random, (uint32_t)i);
		struct wf_sim_decision d = read_list[k];

		read_list[k] = read_list[i - 1];
		read_list[i - 1] = d;
	}
	wf_sim_token_sort(read_list, n);
	assert_same(
		&(struct wf_sim_run){ .list = read_list, .list_count = n }, n);
}

/* ------------------------------------------- tokens of a whole exploration */

/* Fails in most schedules, and only by a long list of decisions. */
static void needs_many(void *arg)
{
	unsigned n = 0;

	(void)arg;
	for (int i = 0; i < 240; i++) {
		n += weft_sim_either(4) > 0;
		weft_sim_yield();
	}
	weft_sim_assert(n < 170, "%u of them", n);
}

static void long_lists_go_through_a_file(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	char path[32], at_path[40];
	int fd = kit_file(path);
	weft_sim_report found, r;

	(void)state;
	snprintf(at_path, sizeof(at_path), "@%s", path);
	assert_int_equal(setenv("WEFT_SIM_LOG", path, 1), 0);
	kit_fails(&o, needs_many, NULL, "assertion", &found);
	assert_int_equal(unsetenv("WEFT_SIM_LOG"), 0);
	/* At least 170 decisions of 7 characters fit into no report. */
	assert_string_equal(found.shrunk, "");
	assert_int_equal(weft_sim_replay(&o, needs_many, NULL, at_path, &r), 1);
	assert_string_equal(r.oracle, "assertion");
	assert_int_equal(setenv("WEFT_SIM_REPLAY", at_path, 1), 0);
	assert_int_equal(weft_sim_explore(&o, needs_many, NULL, &r), 1);
	assert_int_equal(unsetenv("WEFT_SIM_REPLAY"), 0);
	assert_int_equal(r.schedules, 1);
	assert_true(kit_file_text(fd, text, sizeof(text)) > WF_SIM_TOKEN_BYTES);
	assert_int_equal(kit_lines(text), 1);
}

static void a_missing_file_is_told(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	struct kit_stderr *s = malloc(sizeof(*s));
	weft_sim_report r;
	int err;

	(void)state;
	kit_stderr_begin(s);
	err = weft_sim_replay(&o, needs_many, NULL, "@/no/such/file", &r);
	kit_stderr_end(s);
	assert_int_equal(err, -EINVAL);
	kit_says(s->text, "/no/such/file: No such file or directory");
	assert_int_equal(kit_lines(s->text), 1);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_modes_round_trip),
		cmocka_unit_test(an_idle_thread_has_a_share_of_nothing),
		cmocka_unit_test(lists_of_all_kinds_round_trip),
		cmocka_unit_test(letters_are_those_of_the_header),
		cmocka_unit_test(tokens_are_those_of_the_header),
		cmocka_unit_test(build_is_told),
		cmocka_unit_test(names_cannot_break_a_token),
		cmocka_unit_test(what_does_not_fit_is_nothing),
		cmocka_unit_test(every_truncated_token_is_refused),
		cmocka_unit_test(every_broken_byte_is_refused),
		cmocka_unit_test(rubbish_is_refused),
		cmocka_unit_test(numbers_have_limits),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(too_many_decisions_are_refused),
		cmocka_unit_test(a_list_is_sorted),
		cmocka_unit_test(long_lists_go_through_a_file),
		cmocka_unit_test(a_missing_file_is_told),
	};

	return cmocka_run_group_tests(tests, open_simulator, NULL);
}
