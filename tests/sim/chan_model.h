/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/chan_model.h - what a channel is, as a program without concurrency,
 * and whether what was seen of a real one can be explained by it.
 *
 * Every call on the channel is written down with the moments of its begin and
 * its end.  The HISTORY is right if the calls can be put into one order, each
 * at some moment between its begin and its end, in which the model gives the
 * same results.  All such orders are tried.  Without a buffer a send and the
 * receive that it meets happen at one moment.
 *
 * A call that would have to wait may give up; with a buffer that means that at
 * some moment it was full, or empty, and not closed.  Without one the model
 * does not know who waits, so it may at any moment that it is not closed.
 *
 * Such a call takes no lock, so it may speak of a moment before its begin, back
 * to the begin of its caller's last call: what others did since then need not
 * happen before it.  Not so if the history is STRICT.
 *
 * The simulator does not watch the model, which is not part of the program.
 */
#ifndef WEFT_TESTS_SIM_CHAN_MODEL_H
#define WEFT_TESTS_SIM_CHAN_MODEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <weft/sim.h>

#define MODEL_UNSEEN __attribute__((noinline, unused, no_sanitize("thread")))

enum { MODEL_CALLS = 16, MODEL_CAPACITY = 4 };

enum model_op { MODEL_SEND, MODEL_RECV, MODEL_CLOSE, MODEL_LEN };

struct model_call {
	enum model_op op;
	int value;		/* sent or received; the length */
	int result;		/* 0 or -errno */
	unsigned begin, end;	/* moments */
	unsigned doer;		/* whose calls are in order anyway */
};

struct model_history {
	struct model_call call[MODEL_CALLS];
	unsigned calls;
	unsigned moment;	/* the last one that was given away */
	unsigned capacity;	/* of the channel */
	bool strict;		/* see above */
};

/* An actor that makes calls, one after the other. */
struct model_doer {
	unsigned id;		/* one of its own */
	unsigned begin;		/* of its last call */
};

struct model {
	int ring[MODEL_CAPACITY];
	unsigned count, capacity;
	bool closed;
};

/* ------------------------------------------------------------------------ */
/* The model. */

MODEL_UNSEEN static bool model_send(struct model *m, const struct model_call *k)
{
	if (m->closed)
		return k->result == -EPIPE;
	if (m->count == m->capacity)
		return k->result == -ETIMEDOUT || k->result == -ECANCELED;
	m->ring[m->count++] = k->value;
	return k->result == 0;
}

MODEL_UNSEEN static bool model_recv(struct model *m, const struct model_call *k)
{
	int value = m->ring[0];

	if (m->count == 0 && m->closed)
		return k->result == -EPIPE;
	if (m->count == 0)
		return k->result == -ETIMEDOUT || k->result == -ECANCELED;
	m->count--;
	for (unsigned i = 0; i < m->count; i++)
		m->ring[i] = m->ring[i + 1];
	return k->result == 0 && k->value == value;
}

MODEL_UNSEEN static bool model_close(
	struct model *m, const struct model_call *k)
{
	bool was = m->closed;

	m->closed = true;
	return k->result == (was ? -EALREADY : 0);
}

/* Does the call give that result, now? */
MODEL_UNSEEN static bool model_step(struct model *m, const struct model_call *k)
{
	switch (k->op) {
	case MODEL_SEND:
		return model_send(m, k);
	case MODEL_RECV:
		return model_recv(m, k);
	case MODEL_CLOSE:
		return model_close(m, k);
	case MODEL_LEN:
		return k->value == (int)m->count;
	}
	return false;
}

/* Without a buffer: do the two meet? */
MODEL_UNSEEN static bool model_meet(const struct model *m,
	const struct model_call *a, const struct model_call *b)
{
	return m->capacity == 0 && !m->closed && a->op == MODEL_SEND &&
		b->op == MODEL_RECV && a->result == 0 && b->result == 0 &&
		a->value == b->value;
}

/* ------------------------------------------------------------------------ */
/* The orders. */

/* May call i be the next one, when those in done have been? */
MODEL_UNSEEN static bool model_is_next(
	const struct model_history *h, uint32_t done, unsigned i)
{
	if (done >> i & 1)
		return false;
	for (unsigned k = 0; k < h->calls; k++) {
		const struct model_call *a = &h->call[k], *b = &h->call[i];

		if (!(done >> k & 1) &&
			(a->end < b->begin || (a->doer == b->doer && k < i)))
			return false;
	}
	return true;
}

MODEL_UNSEEN static bool model_explains(
	const struct model_history *h, uint32_t done, const struct model *m)
{
	if (done == (UINT32_C(1) << h->calls) - 1)
		return true;
	for (unsigned i = 0; i < h->calls; i++) {
		struct model next = *m;

		if (!model_is_next(h, done, i))
			continue;
		if (model_step(&next, &h->call[i]) &&
			model_explains(h, done | 1u << i, &next))
			return true;
		for (unsigned k = 0; k < h->calls; k++)
			if (model_is_next(h, done, k) &&
				model_meet(m, &h->call[i], &h->call[k]) &&
				model_explains(h, done | 1u << i | 1u << k, m))
				return true;
	}
	return false;
}

/* ------------------------------------------------------------------------ */
/* Writing down. */

MODEL_UNSEEN static unsigned model_begin(struct model_history *h)
{
	return ++h->moment;
}

MODEL_UNSEEN static void model_end(struct model_history *h,
	struct model_doer *d, unsigned begin, enum model_op op, int value,
	int result)
{
	bool gave_up = result == -ETIMEDOUT || result == -ECANCELED;

	weft_sim_assert(h->calls < MODEL_CALLS, "the history is too long");
	if (!gave_up || h->strict)
		d->begin = begin;
	h->call[h->calls++] = (struct model_call){ .op = op,
		.value = value,
		.result = result,
		.begin = d->begin,
		.end = ++h->moment,
		.doer = d->id };
}

MODEL_UNSEEN static void model_check(const struct model_history *h)
{
	static const char *const names[] = { "send", "recv", "close", "len" };
	struct model m = { .capacity = h->capacity };
	char text[400] = "";
	size_t at = 0;

	if (model_explains(h, 0, &m))
		return;
	for (unsigned i = 0; i < h->calls && at < sizeof(text); i++) {
		const struct model_call *k = &h->call[i];
		int n = snprintf(text + at, sizeof(text) - at,
			" %u-%u %s(%d)=%d", k->begin, k->end, names[k->op],
			k->value, k->result);

		at += n > 0 ? (size_t)n : sizeof(text);
	}
	weft_sim_assert(false, "no order explains, capacity %u:%s",
		h->capacity, text);
}

#endif
