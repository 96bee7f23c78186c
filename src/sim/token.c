/* SPDX-License-Identifier: MIT */
/*
 * sim/token.c - write and read tokens.
 */
#include "sim/token.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/program.h"

static const char letters[] = "tswkucfrezb";

static const struct {
	uint32_t mode;
	const char *name;
} modes[] = { { WEFT_SIM_WALK, "walk" }, { WEFT_SIM_PCT, "pct" },
	{ WEFT_SIM_URW, "urw" }, { WF_SIM_LIST, "list" } };

#define WF_SIM_MODES (sizeof(modes) / sizeof(modes[0]))

struct text {
	char *p;
	size_t bytes, at;
};

static void add(struct text *t, const char *fmt, ...) wf_printf(2, 3);

static void add(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	if (t->at >= t->bytes)
		return;
	va_start(args, fmt);
	n = vsnprintf(t->p + t->at, t->bytes - t->at, fmt, args);
	va_end(args);
	t->at += (size_t)n;
}

static void add_list(struct text *t, const struct wf_sim_run *how)
{
	for (size_t i = 0; i < how->list_count; i++) {
		const struct wf_sim_decision *d = &how->list[i];

		add(t, "%s%u.%u", i > 0 ? "," : "", d->thread, d->at);
		if (d->sub > 0)
			add(t, ".%u", d->sub);
		add(t, "%c%u", letters[d->kind], d->value);
	}
}

static void add_shares(struct text *t, const struct wf_sim_run *how)
{
	uint32_t n = WF_SIM_THREADS;

	while (n > 1 && how->share[n - 1] == 0)
		n--;
	for (uint32_t i = 0; i < n; i++)
		add(t, ".%u", how->share[i]);
}

/* Replace the characters that end a name in a token. */
static char tame(char c)
{
	return c == ':' || c == ' ' ? '_' : c;
}

bool wf_sim_token_is_of(const char *text, const char *name)
{
	while (*name != '\0' && *text == tame(*name)) {
		text++;
		name++;
	}
	return *name == '\0' && *text == ':';
}

bool wf_sim_token_print(char *text, size_t bytes, const char *name,
	const struct wf_sim_run *how)
{
	struct text t = { .p = text, .bytes = bytes };
	size_t m = 0;

	while (m < WF_SIM_MODES - 1 && modes[m].mode != how->mode)
		m++;
	for (; *name != '\0'; name++)
		add(&t, "%c", tame(*name));
	add(&t, ":%s:%" PRIx64 ":", modes[m].name, how->seed);
	if (how->mode == WEFT_SIM_PCT)
		add(&t, "%u.", how->depth);
	if (how->mode == WF_SIM_LIST)
		add_list(&t, how);
	else
		add(&t, "%u", how->length);
	if (how->mode == WEFT_SIM_URW)
		add_shares(&t, how);
	add(&t, ":%08x", wf_sim_program_build());
	if (t.at < bytes)
		return true;
	text[0] = '\0';
	return false;
}

/* Read a number; false: there is none. */
static bool number(const char **p, uint64_t max, int base, uint64_t *v)
{
	char *end;

	errno = 0;
	if (!isxdigit((unsigned char)**p) || (*p)[1] == 'x' || (*p)[1] == 'X')
		return false;
	*v = strtoull(*p, &end, base);
	if (end == *p || errno != 0 || *v > max)
		return false;
	*p = end;
	return true;
}

static bool literal(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

static bool decision(const char **p, struct wf_sim_decision *d)
{
	uint64_t thread, at, sub = 0, value;
	const char *kind;

	if (!number(p, WF_SIM_THREADS - 1, 10, &thread) || !literal(p, '.') ||
		!number(p, UINT32_MAX, 10, &at))
		return false;
	if (literal(p, '.') && !number(p, UINT8_MAX, 10, &sub))
		return false;
	kind = **p == '\0' ? NULL : strchr(letters, **p);
	if (kind == NULL)
		return false;
	(*p)++;
	if (!number(p, *kind == 't' ? WF_SIM_THREADS - 1 : UINT16_MAX, 10,
		    &value))
		return false;
	*d = (struct wf_sim_decision){ .at = (uint32_t)at,
		.value = (uint16_t)value,
		.thread = (uint8_t)thread,
		.kind = (uint8_t)(kind - letters),
		.sub = (uint8_t)sub };
	return true;
}

static bool decisions(const char **p, struct wf_sim_run *how,
	struct wf_sim_decision *list, size_t max)
{
	how->list = list;
	how->list_count = 0;
	if (**p == ':')
		return true;
	do {
		if (how->list_count == max ||
			!decision(p, &list[how->list_count++]))
			return false;
	} while (literal(p, ','));
	wf_sim_token_sort(list, how->list_count);
	return true;
}

static bool lengths(const char **p, struct wf_sim_run *how)
{
	uint64_t v;

	if (how->mode == WEFT_SIM_PCT) {
		if (!number(p, 8, 10, &v) || v == 0 || !literal(p, '.'))
			return false;
		how->depth = (uint32_t)v;
	}
	if (!number(p, UINT32_MAX / 8, 10, &v) || v == 0)
		return false;
	how->length = (uint32_t)v;
	if (how->mode != WEFT_SIM_URW)
		return true;
	for (uint32_t i = 0; i < WF_SIM_THREADS && literal(p, '.'); i++) {
		if (!number(p, UINT32_MAX / 16, 10, &v))
			return false;
		how->share[i] = (uint32_t)v;
	}
	return true;
}

int wf_sim_token_parse(const char *text, struct wf_sim_run *how,
	struct wf_sim_decision *list, size_t max, uint32_t *build)
{
	const char *p = strchr(text, ':'), *mode = p == NULL ? NULL : p + 1;
	uint64_t v;
	size_t m = 0;

	*how = (struct wf_sim_run){ .length = 1 };
	p = mode == NULL ? NULL : strchr(mode, ':');
	if (p == NULL)
		return -EINVAL;
	while (m < WF_SIM_MODES &&
		(strlen(modes[m].name) != (size_t)(p - mode) ||
			strncmp(modes[m].name, mode, (size_t)(p - mode)) != 0))
		m++;
	if (m == WF_SIM_MODES)
		return -EINVAL;
	how->mode = modes[m].mode;
	p++;
	if (!number(&p, UINT64_MAX, 16, &how->seed) || !literal(&p, ':'))
		return -EINVAL;
	if (how->mode == WF_SIM_LIST ? !decisions(&p, how, list, max)
				     : !lengths(&p, how))
		return -EINVAL;
	if (!literal(&p, ':') || !number(&p, UINT32_MAX, 16, &v) || *p != '\0')
		return -EINVAL;
	*build = (uint32_t)v;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct wf_sim_decision *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->sub < y->sub ? -1 : x->sub > y->sub;
}

void wf_sim_token_sort(struct wf_sim_decision *list, size_t count)
{
	qsort(list, count, sizeof(*list), compare);
}
