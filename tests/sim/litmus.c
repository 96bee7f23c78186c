/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/litmus.c - the simulator's memory does what C11 allows, all of it
 * that it models, and nothing else.
 *
 * Every test of litmus_table.c is run in many random schedules and in all there
 * are within wide bounds.  An outcome on its "never" list fails the program, if
 * it is seen once; so does one on its "may" list that the bounded search has
 * not found.  With names of tests as arguments, only these are run, and all
 * their outcomes are printed.
 *
 * One body interprets all tests.  Only the operations themselves are watched by
 * the simulator; registers and counts are in memory that is not the program's,
 * since all of that is put back before each schedule.
 */
#include "litmus.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <weft/sim.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/os.h"

#define RANDOM (WEFT_SIM_WALK | WEFT_SIM_PCT | WEFT_SIM_URW)
#define unwatched __attribute__((no_sanitize("thread"))) wf_noinline

enum {
	REGS = 6,
	OPS = 8,	/* of a thread, at most */
	VALUES = 5,	/* 0 to 4 */
	UNSET = VALUES, /* written as - */
	BASE = VALUES + 1,
	OUTCOMES = BASE * BASE * BASE * BASE * BASE * BASE,
	NONE = 255,
	WALKS = 12000,
	OTHERS = 4000, /* schedules of each other random kind */
};

/* Clang's instrumentation does not tell weak from strong. */
#ifdef __clang__
static const bool weak_is_weak = false;
#else
static const bool weak_is_weak = true;
#endif

/* ------------------------------------------------------------------------ */
/* A test, read from its text. */

enum kind { STORE, LOAD, XCHG, ADD, CAS, WEAK, FENCE, LIGHT, HEAVY, IF };

struct op {
	enum kind kind;
	uint8_t reg; /* gets the result, or is asked by IF; NONE */
	uint8_t loc; /* of w, x, y, z, p, q */
	uint8_t value;
	uint8_t from; /* the register that has the value; NONE */
	uint8_t expected;
	bool plain;
	memory_order mo, fail_mo;
};

struct thread {
	struct op op[OPS];
	size_t ops;
};

struct program {
	const struct litmus *text;
	struct thread thread[LITMUS_THREADS];
	size_t threads;
	struct thread first, last;
	unsigned regs;	      /* used: always a to some other */
	bool must;	      /* assert that outcomes are allowed */
	uint8_t domain[REGS]; /* mask of values, UNSET one of them */
	uint8_t verdict[OUTCOMES];
};

enum verdict { NEVER, MAY, BEYOND };

static struct program *program;

static wf_noreturn void bad(const char *what, const char *where)
{
	fprintf(stderr, "litmus: %s: %s: \"%s\"\n", program->text->name, what,
		where);
	exit(2);
}

/* Is s next in *at?  Then it is taken. */
static bool take(const char **at, const char *s)
{
	size_t n = strlen(s);

	*at += strspn(*at, " ");
	if (strncmp(*at, s, n) != 0)
		return false;
	*at += n;
	return true;
}

/* One of the characters of set, by its place there. */
static uint8_t take_of(const char **at, const char *set)
{
	const char *c;

	*at += strspn(*at, " ");
	c = **at != '\0' ? strchr(set, **at) : NULL;
	if (c == NULL)
		bad("expected one of these before the rest", set);
	++*at;
	return (uint8_t)(c - set);
}

static bool next_is(const char *at, const char *set)
{
	at += strspn(at, " ");
	return *at != '\0' && strchr(set, *at) != NULL;
}

static memory_order take_order(const char **at)
{
	/* The longest first where one begins another. */
	if (take(at, "acqrel"))
		return memory_order_acq_rel;
	if (take(at, "acq"))
		return memory_order_acquire;
	if (take(at, "rel"))
		return memory_order_release;
	if (take(at, "rlx"))
		return memory_order_relaxed;
	if (take(at, "sc"))
		return memory_order_seq_cst;
	bad("expected an order", *at);
}

static memory_order without_release(memory_order mo)
{
	if (mo == memory_order_acq_rel)
		return memory_order_acquire;
	return mo == memory_order_release ? memory_order_relaxed : mo;
}

/* Parses the operation on op->loc whose result goes to op->reg. */
static void parse_read(const char **at, struct op *op)
{
	if (take(at, "+")) {
		op->kind = ADD;
	} else if (take(at, "<-")) {
		op->kind = XCHG;
	} else if (next_is(*at, "?~")) {
		op->kind = take_of(at, "?~") == 0 ? CAS : WEAK;
		op->expected = take_of(at, "01234");
		if (!take(at, "<-"))
			bad("expected <-", *at);
	} else {
		op->kind = LOAD;
		return;
	}
	op->value = take_of(at, "01234");
}

static void parse_access(const char **at, struct op *op)
{
	if (next_is(*at, "abcdef")) {
		op->reg = take_of(at, "abcdef");
		if (!take(at, "="))
			bad("expected =", *at);
	}
	op->loc = take_of(at, "wxyzpq");
	if (op->reg == NONE && take(at, "=")) {
		op->kind = STORE;
		if (next_is(*at, "abcdef"))
			op->from = take_of(at, "abcdef");
		else
			op->value = take_of(at, "01234");
	} else {
		parse_read(at, op);
	}
	op->plain = !next_is(*at, "ars");
	if (op->plain && op->kind != STORE && op->kind != LOAD)
		bad("expected an order", *at);
	if (!op->plain)
		op->mo = take_order(at);
	op->fail_mo = take(at, "/") ? take_order(at) : without_release(op->mo);
}

static void parse_op(const char **at, struct op *op)
{
	*op = (struct op){ .reg = NONE, .from = NONE };
	if (take(at, "F ")) {
		op->kind = FENCE;
		op->mo = take_order(at);
	} else if (take(at, "light")) {
		op->kind = LIGHT;
	} else if (take(at, "membarrier")) {
		op->kind = HEAVY;
	} else if (take(at, "if ")) {
		op->kind = IF;
		op->reg = take_of(at, "abcdef");
		if (!take(at, "="))
			bad("expected =", *at);
		op->value = take_of(at, "01234");
	} else {
		parse_access(at, op);
	}
}

static void parse_thread(const char *text, struct thread *t)
{
	t->ops = 0;
	do {
		if (t->ops == OPS)
			bad("too long", text);
		parse_op(&text, &t->op[t->ops++]);
	} while (take(&text, ";"));
	if (*text != '\0')
		bad("expected ; or the end", text);
}

/* ------------------------------------------------------------------------ */
/* What there is to come of it. */

/* All values that may ever be in an object, as masks. */
struct values {
	uint8_t loc[6];
	uint8_t reg[REGS];
};

static void collect(const struct thread *t, struct values *v, bool adds)
{
	for (size_t i = 0; i < t->ops; i++) {
		const struct op *op = &t->op[i];
		uint8_t *loc = &v->loc[op->loc];

		if (op->kind >= FENCE)
			continue;
		if (op->kind == ADD)
			*loc |= adds ? (uint8_t)(*loc << op->value) : 0;
		else if (op->kind == STORE && op->from != NONE)
			*loc |= v->reg[op->from];
		else if (op->kind == STORE || op->kind == XCHG ||
			(op->kind >= CAS && *loc & 1u << op->expected))
			*loc |= (uint8_t)(1u << op->value);
		if (op->reg != NONE)
			v->reg[op->reg] |= *loc;
	}
}

/* A register behind an IF, or of a weak compare-and-swap, can stay unset. */
static void note_unset(const struct thread *t)
{
	bool unsure = false;

	for (size_t i = 0; i < t->ops; i++) {
		const struct op *op = &t->op[i];

		if (op->kind == IF)
			unsure = true;
		else if (op->reg != NONE && (unsure || op->kind == WEAK))
			program->domain[op->reg] |= 1u << UNSET;
	}
}

static void collect_all(struct values *v, bool adds)
{
	for (size_t i = 0; i < program->threads; i++)
		collect(&program->thread[i], v, adds);
	collect(&program->first, v, adds);
	collect(&program->last, v, adds);
}

static void find_domain(void)
{
	struct values v;

	memset(&v, 0, sizeof(v));
	memset(v.loc, 1, sizeof(v.loc));
	/* Values wander from stores to registers to stores. */
	for (int i = 0; i < 4; i++)
		collect_all(&v, false);
	collect_all(&v, true);
	collect_all(&v, false);
	for (program->regs = 0; program->regs < REGS; program->regs++) {
		uint8_t d = v.reg[program->regs] & ((1u << VALUES) - 1);

		if (d == 0)
			break;
		program->domain[program->regs] = d;
	}
	for (unsigned i = program->regs; i < REGS; i++)
		if (v.reg[i] != 0)
			bad("a register before this one is not used",
				(char[]){ "abcdef"[i], '\0' });
	for (size_t i = 0; i < program->threads; i++)
		note_unset(&program->thread[i]);
}

/* The outcome of that number, as text; false: there can be none. */
static bool spell(unsigned outcome, char text[REGS + 1])
{
	bool possible = true;
	unsigned i;

	for (i = 0; i < program->regs; i++, outcome /= BASE) {
		text[i] = "01234-"[outcome % BASE];
		possible &= program->domain[i] >> outcome % BASE & 1;
	}
	text[i] = '\0';
	return possible && outcome == 0;
}

static bool matches(const char *pattern, size_t n, const char *text)
{
	if (n != strlen(text))
		return false;
	for (size_t i = 0; i < n; i++)
		if (pattern[i] != '*' && pattern[i] != text[i])
			return false;
	return true;
}

/* Is it on the list, by name? */
static bool listed(const char *list, const char *text)
{
	for (size_t n; list != NULL && *list != '\0'; list += n) {
		list += strspn(list, " ");
		n = strcspn(list, " ");
		if (matches(list, n, text))
			return true;
	}
	return false;
}

static bool is_else(const char *list)
{
	return list != NULL && strcmp(list, "else") == 0;
}

/* The list of an outcome: by name in one, else that which has the rest. */
static enum verdict verdict_of(const char *text)
{
	const struct litmus *t = program->text;
	const char *const lists[] = { t->never, t->may, t->beyond };
	unsigned found = 0, named = NEVER, rest = 3;

	for (unsigned i = 0; i < 3; i++) {
		if (listed(lists[i], text)) {
			found++;
			named = i;
		}
		if (is_else(lists[i]))
			rest = i;
	}
	if (found > 1)
		bad("an outcome is on two lists", text);
	if (found == 0 && rest == 3)
		bad("an outcome is on no list", text);
	return (enum verdict)(found != 0 ? named : rest);
}

/* Every pattern must be of use. */
static void check_list(const char *list)
{
	char text[REGS + 1];

	for (size_t n; list != NULL && *list != '\0' && !is_else(list);
		list += n) {
		bool used = false;

		list += strspn(list, " ");
		n = strcspn(list, " ");
		for (unsigned i = 0; i < OUTCOMES && !used; i++)
			used = spell(i, text) && matches(list, n, text);
		if (!used)
			bad("this begins with an impossible outcome", list);
	}
}

/* Does a compare-and-swap fail for no reason in it? */
static bool needs_weak(const char *text)
{
	for (size_t i = 0; i < program->threads; i++) {
		const struct thread *t = &program->thread[i];

		for (const struct op *op = t->op; op < t->op + t->ops; op++)
			if (op->kind == WEAK && text[op->reg] == '-')
				return true;
	}
	return false;
}

static void find_verdicts(void)
{
	char text[REGS + 1];

	memset(program->verdict, NEVER, sizeof(program->verdict));
	if (program->text->race)
		return;
	for (unsigned i = 0; i < OUTCOMES; i++) {
		if (!spell(i, text))
			continue;
		program->verdict[i] = (uint8_t)verdict_of(text);
		if (program->verdict[i] == MAY && !weak_is_weak &&
			needs_weak(text))
			program->verdict[i] = BEYOND;
	}
	check_list(program->text->never);
	check_list(program->text->may);
	check_list(program->text->beyond);
}

static void load_test(const struct litmus *text)
{
	memset(program, 0, sizeof(*program));
	program->text = text;
	while (program->threads < LITMUS_THREADS &&
		text->threads[program->threads] != NULL) {
		parse_thread(text->threads[program->threads],
			&program->thread[program->threads]);
		program->threads++;
	}
	if (text->first != NULL)
		parse_thread(text->first, &program->first);
	if (text->last != NULL)
		parse_thread(text->last, &program->last);
	find_domain();
	find_verdicts();
}

/* ------------------------------------------------------------------------ */
/* Running it. */

static _Atomic(uint32_t) object[6];

struct tally {
	uint64_t seen[OUTCOMES];
	uint64_t runs;
	bool race;
};

/* Stays as it is when the program's variables are put back. */
struct board {
	struct program program;
	uint8_t reg[REGS];
	struct tally random, bounded, scratch;
	struct tally *now; /* the one that counts */
};

static struct board *board;

/* These are all that the simulator sees. */
static wf_noinline uint32_t operate(enum kind kind, _Atomic(uint32_t) *p,
	uint32_t v, uint32_t expected, memory_order mo, memory_order fail_mo)
{
	uint32_t was = expected;

	switch (kind) {
	case STORE:
		atomic_store_explicit(p, v, mo);
		break;
	case LOAD:
		return atomic_load_explicit(p, mo);
	case XCHG:
		return atomic_exchange_explicit(p, v, mo);
	case ADD:
		return atomic_fetch_add_explicit(p, v, mo);
	case CAS:
		(void)atomic_compare_exchange_strong_explicit(
			p, &was, v, mo, fail_mo);
		return was;
	case WEAK:
		if (!atomic_compare_exchange_weak_explicit(
			    p, &was, v, mo, fail_mo) &&
			was == expected)
			return UNSET;
		return was;
	case FENCE:
		atomic_thread_fence(mo);
		break;
	case LIGHT:
		wf_fence_light();
		break;
	case HEAVY:
		wf_os_membarrier();
		break;
	case IF:
		break;
	}
	return 0;
}

static wf_noinline uint32_t operate_plainly(
	enum kind kind, uint32_t *p, uint32_t v)
{
	if (kind == STORE)
		*p = v;
	return kind == LOAD ? *p : 0;
}

static unwatched void interpret(void *arg)
{
	const struct thread *t = arg;
	uint8_t *reg = board->reg;

	for (size_t i = 0; i < t->ops; i++) {
		const struct op *op = &t->op[i];
		uint32_t v = op->from == NONE ? op->value : reg[op->from];
		_Atomic(uint32_t) *p = &object[op->loc];
		uint32_t r;

		if (op->kind == IF) {
			if (reg[op->reg] != op->value)
				return;
			continue;
		}
		if (op->plain)
			r = operate_plainly(op->kind, (uint32_t *)p, v);
		else
			r = operate(op->kind, p, v, op->expected, op->mo,
				op->fail_mo);
		if (op->reg != NONE)
			reg[op->reg] = (uint8_t)(r < UNSET ? r : UNSET);
	}
}

static unwatched void body(void *arg)
{
	static const char *const names[] = { "T0", "T1", "T2", "T3" };
	char text[REGS + 1];
	unsigned outcome = 0;
	int id[LITMUS_THREADS];

	(void)arg;
	memset(board->reg, UNSET, sizeof(board->reg));
	interpret(&program->first);
	for (size_t i = 0; i < program->threads; i++) {
		id[i] = weft_sim_thread(
			interpret, &program->thread[i], names[i]);
		weft_sim_assert(id[i] >= 0, "no thread");
	}
	/* Getting up for each that ends would only make more schedules. */
	weft_sim_quiesce();
	for (size_t i = 0; i < program->threads; i++)
		(void)weft_sim_join(id[i]);
	interpret(&program->last);
	for (unsigned i = program->regs; i-- > 0;)
		outcome = outcome * BASE + board->reg[i];
	board->now->seen[outcome]++;
	board->now->runs++;
	if (program->must && program->verdict[outcome] == NEVER) {
		(void)spell(outcome, text);
		weft_sim_assert(false, "outcome %s is forbidden", text);
	}
}

/* Can another thread come before it? */
static bool is_point(const struct op *op)
{
	if (op->kind == FENCE)
		return op->mo == memory_order_seq_cst;
	return op->kind == HEAVY || (op->kind < FENCE && !op->plain);
}

/*
 * In how many places can a thread be interrupted, between two operations?  With
 * as many preemptions, nothing is left out; only the largest tests, for which
 * that would take seconds, have to do with less.
 */
static unsigned places(void)
{
	unsigned n = 0, most = program->threads < LITMUS_THREADS ? 4 : 3;

	for (size_t i = 0; i < program->threads; i++) {
		const struct thread *t = &program->thread[i];
		unsigned points = 0;

		for (const struct op *op = t->op; op < t->op + t->ops; op++)
			points += is_point(op);
		n += points > 0 ? points - 1 : 0;
	}
	return n < most ? n : most;
}

/* ------------------------------------------------------------------------ */
/* All of them. */

static struct {
	unsigned tests;
	unsigned forbidden; /* outcomes seen */
	unsigned allowed, reached;
	unsigned missing; /* that had to be reached */
} total;

/* A failure that is not a race that had to be found. */
static void unexpected(const weft_sim_report *r)
{
	total.forbidden++;
	printf("%s: FAILED, %s: %s\n%s: WEFT_SIM_REPLAY='%s'\n",
		program->text->name, r->oracle, r->message, program->text->name,
		r->token);
}

static void explore(
	uint32_t modes, uint64_t schedules, uint32_t flags, struct tally *tally)
{
	weft_sim_opts opts = { .name = program->text->name,
		.seed = 1,
		.schedules = schedules,
		.modes = modes,
		.preemptions = places(),
		.stales = 8,
		.surprises = 8,
		.flags = flags };
	weft_sim_report report;
	int err;

	board->now = tally;
	err = weft_sim_explore(&opts, body, NULL, &report);
	if (err < 0) {
		fprintf(stderr, "litmus: cannot explore: %s\n", strerror(-err));
		exit(2);
	}
	if (err == 1 && program->text->race &&
		strcmp(report.oracle, "race") == 0) {
		tally->race = true;
		tally->runs += report.schedules;
	} else if (err == 1 && !program->must) {
		unexpected(&report);
	} else if (modes == WEFT_SIM_BOUNDED && !report.complete) {
		total.missing++;
		printf("%s: the bounded search was cut short\n",
			program->text->name);
	}
}

/* Run it once more, loudly, to show how it comes to a forbidden outcome. */
static void show_forbidden(uint32_t modes)
{
	program->must = true;
	explore(modes, UINT64_MAX, 0, &board->scratch);
	program->must = false;
}

static const char *share(uint64_t n, uint64_t of)
{
	static char text[32];

	snprintf(text, sizeof(text), "%.2f %%",
		of == 0 ? 0.0 : 100.0 * (double)n / (double)of);
	return text;
}

/* Judge one outcome; is it allowed? */
static bool judge(unsigned outcome, const char *text, bool loud)
{
	static const char *const words[] = { "FORBIDDEN", "", "beyond" };
	const char *name = program->text->name;
	enum verdict v = (enum verdict)program->verdict[outcome];
	uint64_t r = board->random.seen[outcome];
	uint64_t b = board->bounded.seen[outcome];

	if (loud && (r + b != 0 || v != NEVER))
		printf("    %s %10s %9llu bounded  %s\n", text,
			share(r, board->random.runs), (unsigned long long)b,
			v == NEVER || b == 0 ? words[v] : "");
	if (v == NEVER && r + b != 0) {
		total.forbidden++;
		printf("%s: FORBIDDEN outcome %s, in %llu random runs and %llu "
		       "bounded ones\n",
			name, text, (unsigned long long)r,
			(unsigned long long)b);
		if (loud)
			show_forbidden(b != 0 ? WEFT_SIM_BOUNDED : RANDOM);
	}
	if (v == MAY && b == 0) {
		total.missing++;
		printf("%s: outcome %s NOT REACHED (%llu random runs had it)\n",
			name, text, (unsigned long long)r);
	}
	if (v == BEYOND && b != 0)
		printf("%s: outcome %s is reached, though listed as beyond\n",
			name, text);
	total.reached += v != NEVER && b != 0;
	return v != NEVER;
}

/* One line: how many of the allowed outcomes, and the rarest of them. */
static void judge_outcomes(bool loud)
{
	unsigned allowed = 0, before = total.reached;
	char text[REGS + 1], rarest[REGS + 1] = "";
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < OUTCOMES; i++) {
		uint64_t n = board->random.seen[i];
		bool possible = spell(i, text);

		if (!possible && n == 0 && board->bounded.seen[i] == 0)
			continue;
		if (!judge(i, text, loud))
			continue;
		allowed++;
		if (program->verdict[i] == MAY && n < least) {
			least = n;
			memcpy(rarest, text, sizeof(rarest));
		}
	}
	total.allowed += allowed;
	printf("%-30s %2u of %2u reached   rarest %s %s\n", program->text->name,
		total.reached - before, allowed, rarest,
		share(least, board->random.runs));
}

static void judge_race(void)
{
	total.allowed++;
	total.reached += board->bounded.race;
	if (!board->bounded.race || !board->random.race) {
		total.missing++;
		printf("%s: the race is NOT REPORTED\n", program->text->name);
	}
	printf("%-30s race in schedule %llu, %llu bounded\n",
		program->text->name, (unsigned long long)board->random.runs,
		(unsigned long long)board->bounded.runs);
}

static void run_test(const struct litmus *text, bool loud)
{
	const uint32_t quiet = WEFT_SIM_QUIET | WEFT_SIM_NO_SHRINK;

	load_test(text);
	memset(&board->random, 0, sizeof(board->random));
	memset(&board->bounded, 0, sizeof(board->bounded));
	explore(WEFT_SIM_WALK, WALKS, quiet, &board->random);
	if (!text->race) {
		explore(WEFT_SIM_PCT, OTHERS, quiet, &board->random);
		explore(WEFT_SIM_URW, OTHERS, quiet, &board->random);
	}
	explore(WEFT_SIM_BOUNDED, UINT64_MAX, quiet, &board->bounded);
	if (text->race)
		judge_race();
	else
		judge_outcomes(loud);
	total.tests++;
}

static bool run_named(const char *name)
{
	for (size_t i = 0; i < litmus_count; i++)
		if (strcmp(litmus_table[i].name, name) == 0) {
			run_test(&litmus_table[i], true);
			return true;
		}
	fprintf(stderr, "litmus: there is no test %s\n", name);
	return false;
}

int main(int argc, char **argv)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED) {
		perror("litmus");
		return 2;
	}
	program = &board->program;
	for (int i = 1; i < argc; i++)
		if (!run_named(argv[i]))
			return 2;
	for (size_t i = 0; argc == 1 && i < litmus_count; i++)
		run_test(&litmus_table[i], false);
	printf("litmus: %u tests, %u forbidden outcomes, %u of %u allowed "
	       "outcomes reached\n",
		total.tests, total.forbidden, total.reached, total.allowed);
	return total.forbidden != 0 || total.missing != 0;
}
