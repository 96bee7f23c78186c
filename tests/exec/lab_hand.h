/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/lab_hand.h - a laboratory without threads, played by hand.
 */
#ifndef WEFT_TESTS_EXEC_LAB_HAND_H
#define WEFT_TESTS_EXEC_LAB_HAND_H

#include <string.h>

#include "exec/lab_priv.h"

enum { HAND_TASKS = 64 };

static weft_task hand_tasks[HAND_TASKS];

/* All workers are awake. */
static inline struct wf_lab *hand_open(const struct wf_lab_config *c)
{
	size_t bytes = sizeof(struct wf_lab) +
		c->workers * sizeof(struct wf_lab_worker);
	struct wf_lab *lab = wf_os_alloc(bytes + wf_lab_queue_bytes(c));

	assert_non_null(lab);
	lab->cfg = *c;
	wf_lab_queues_init(lab, (char *)lab + bytes);
	for (uint32_t i = 0; i < c->workers; i++) {
		struct wf_lab_worker *w = &lab->workers[i];

		w->lab = lab;
		w->bit = (uint64_t)1 << i;
		for (uint32_t j = 0; j + 1 < c->workers; j++)
			w->victims[j] = (uint8_t)(j < i ? j : j + 1);
	}
	return lab;
}

static inline void hand_close(struct wf_lab *lab)
{
	wf_os_free(lab);
}

static inline size_t hand_number(const weft_task *task)
{
	return task ? (size_t)(task - hand_tasks) : SIZE_MAX;
}

/* Push tasks [from, to) to the global queue; or to that of w. */
static inline void hand_fill(struct wf_lab *lab, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		wf_lab_push_global(lab, NULL, &hand_tasks[i]);
}

static inline void hand_fill_local(
	struct wf_lab_worker *w, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		(void)wf_lab_push(w, &hand_tasks[i]);
}

static inline uint64_t hand_count(
	const struct wf_lab_worker *w, enum wf_lab_counter c)
{
	return wf_load_rlx(&w->counts[c]);
}

#endif
