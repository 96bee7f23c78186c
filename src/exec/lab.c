/* SPDX-License-Identifier: MIT */
/*
 * exec/lab.c - the laboratory: submit, pick, the loop, begin and end.
 *
 * Reads next: exec/pool.c, the plain pool that the lab is compared with.
 */
#include "exec/lab.h"

#include <errno.h>

#include "base/limits.h"
#include "base/units.h"
#include "exec/foreign.h"
#include "exec/lab_priv.h"
#include "os/spin.h"
#include "queue/resubmit_check.h"
#include "stack/overflow.h"

const struct wf_lab_config wf_lab_default = {
	.local_capacity = WF_LOCAL_CAPACITY,
	.bounded_capacity = WF_BOUNDED_CAP_DEFAULT,
	.global_every = WF_GLOBAL_TICK,
	.lifo = 1,
	.lifo_limit = WF_LIFO_BUDGET,
	.spins = 10,
};

static bool is_capacity(uint32_t n, uint32_t max)
{
	return wf_is_pow2(n) && n >= 2 && n <= max;
}

const char *wf_lab_error(const struct wf_lab_config *c)
{
	const struct {
		bool wrong;
		const char *why;
	} checks[] = {
		{ c->workers > WF_LAB_WORKERS_MAX, "workers is more than 64" },
		{ c->queues > WF_LAB_BOUNDED, "queues is unknown" },
		{ c->local > WF_LAB_LIST, "local is unknown" },
		{ c->steal > WF_LAB_STEAL_ONE, "steal is unknown" },
		{ c->victims > WF_LAB_VICTIMS_ONE, "victims is unknown" },
		{ c->take > WF_LAB_TAKE_ALL, "take is unknown" },
		{ c->offload > WF_LAB_OFFLOAD_ONE, "offload is unknown" },
		{ c->yield > WF_LAB_YIELD_LOCAL, "yield is unknown" },
		{ c->wake > WF_LAB_WAKE_FLARE, "wake is unknown" },
		{ c->lifo > 1, "lifo is neither 0 nor 1" },
		{ !is_capacity(c->local_capacity, WF_RUNQ_CAP_MAX),
			"local_capacity is not a power of two, 2 to 65536" },
		{ !is_capacity(c->bounded_capacity, 1 << 20),
			"bounded_capacity is not a power of two, 2 to 2^20" },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i].wrong)
			return checks[i].why;
	return NULL;
}

/* The worker of lab that the caller is, at any depth; NULL: none. */
static struct wf_lab_worker *self(struct wf_lab *lab)
{
	struct wf_lab_worker *found = NULL, *w = lab->workers;
	struct wf_thread *here = wf_enter(), *t;

	for (t = here; t != NULL && t->foreign && found == NULL; t = t->host)
		if ((char *)t >= (char *)w &&
			(char *)t < (char *)(w + lab->cfg.workers))
			found = wf_container_of(
				t, struct wf_lab_worker, stand_in);
	wf_leave(here);
	return found;
}

static void submit_inside(
	struct wf_lab_worker *w, weft_task *task, weft_hint hint)
{
	const struct wf_lab_config *c = &w->lab->cfg;
	size_t shown = 1;

	if (hint == WEFT_HINT_NEXT && c->lifo) {
		weft_task *displaced = w->slot;

		w->slot = task;
		task = displaced;
	}
	if (task == NULL)
		return;
	if (hint == WEFT_HINT_YIELD && c->yield == WF_LAB_YIELD_GLOBAL)
		wf_lab_push_global(w->lab, w, task);
	else
		shown = wf_lab_push(w, task);
	wf_lab_wake(w->lab, w, shown);
}

static int submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct wf_lab *lab = (struct wf_lab *)e;
	struct wf_lab_worker *w = self(lab);

	wf_resubmit_enter(task);
	if (w != NULL) {
		submit_inside(w, task, hint);
		return 0;
	}
	/* The queue orders this before the run of the task. */
	(void)wf_add_rlx(&lab->visitors, 1);
	wf_lab_push_global(lab, NULL, task);
	wf_lab_wake(lab, NULL, 1);
	/* [pair: lab.visitors] Our last access: the lab may be gone. */
	(void)wf_sub_rel(&lab->visitors, 1);
	return 0;
}

/* By take or steal; others are woken for the tasks that came with it. */
static weft_task *get(struct wf_lab_worker *w,
	weft_task *(*from)(struct wf_lab_worker *, size_t *),
	enum wf_lab_counter source)
{
	size_t shown;
	weft_task *task = from(w, &shown);

	wf_lab_wake(w->lab, w, shown);
	wf_lab_count(w->lab, w, source, task != NULL);
	return task;
}

static weft_task *from_slot(struct wf_lab_worker *w)
{
	uint32_t limit = w->lab->cfg.lifo_limit;
	weft_task *task = w->slot;

	w->slot = NULL;
	if (task == NULL || (limit != 0 && w->streak >= limit)) {
		w->streak = 0;
		if (task != NULL)
			wf_lab_wake(w->lab, w, wf_lab_push(w, task));
		return NULL;
	}
	w->streak++;
	wf_lab_count(w->lab, w, WF_LAB_RUNS_SLOT, 1);
	return task;
}

static weft_task *pick(struct wf_lab_worker *w)
{
	uint32_t every = w->lab->cfg.global_every;
	weft_task *task = NULL;

	wf_lab_count(w->lab, w, WF_LAB_LOOPS, 1);
	if (every != 0 && ++w->picks % every == 0)
		task = get(w, wf_lab_take, WF_LAB_RUNS_GLOBAL);
	if (task == NULL)
		task = from_slot(w);
	if (task != NULL)
		return task;
	task = wf_lab_pop(w);
	wf_lab_count(w->lab, w, WF_LAB_RUNS_LOCAL, task != NULL);
	return task ? task : get(w, wf_lab_take, WF_LAB_RUNS_GLOBAL);
}

/* The next task of w; NULL: it has slept, or should look again. */
static weft_task *next(struct wf_lab_worker *w)
{
	weft_task *task = pick(w);
	unsigned looks = 0;

	if (task == NULL) {
		wf_lab_search(w);
		task = get(w, wf_lab_steal, WF_LAB_RUNS_STOLEN);
	}
	if (task == NULL && wf_lab_spin_begin(w)) {
		while (task == NULL && wf_lab_spin_again(w, ++looks))
			if ((task = pick(w)) == NULL)
				task = get(w, wf_lab_steal, WF_LAB_RUNS_STOLEN);
		wf_lab_spin_end(w, task != NULL);
	}
	if (task != NULL)
		wf_lab_found(w);
	else
		wf_lab_park(w);
	return task;
}

static void thread_main(void *arg)
{
	struct wf_lab_worker *w = arg;
	struct wf_os_altstack alternate;
	/* Without it a stack overflow ends the program without a message. */
	bool reports = wf_overflow_enter(&alternate) == 0;

	wf_foreign_begin(&w->stand_in, &w->lab->exec.base);
	while (!wf_load_rlx(&w->lab->stop)) {
		weft_task *task = next(w);

		if (task == NULL)
			continue;
		wf_resubmit_leave(task);
		task->run(task);
	}
	wf_foreign_end(&w->stand_in);
	if (reports)
		wf_overflow_leave(&alternate);
}

static wf_may_switch int destroy(struct wf_exec *e)
{
	struct wf_lab *lab = (struct wf_lab *)e;
	struct wf_notice l;

	wf_notice_open(&l);
	wf_lab_leave(lab, &l);
	wf_notice_wait(&l);
	/* [pair: lab.visitors] They touch the lab no more. */
	for (unsigned looks = 1; wf_load_acq(&lab->visitors) != 0; looks++)
		wf_spin_pause(looks);
	wf_lab_stop(lab, lab->cfg.workers);
	wf_exec_close(e);
	return 0;
}

static void worker_init(struct wf_lab *lab, uint32_t i)
{
	struct wf_lab_worker *w = &lab->workers[i];

	w->lab = lab;
	w->bit = (uint64_t)1 << i;
	wf_random_seed(&w->random, wf_os_random());
	for (uint32_t j = 0; j + 1 < lab->cfg.workers; j++)
		w->victims[j] = (uint8_t)(j < i ? j : j + 1);
}

static int start(struct wf_lab *lab)
{
	for (uint32_t i = 0; i < lab->cfg.workers; i++)
		worker_init(lab, i);
	for (uint32_t i = 0; i < lab->cfg.workers; i++) {
		struct wf_lab_worker *w = &lab->workers[i];

		if (wf_os_thread_start(
			    &w->os, thread_main, w, 0, "weft-lab") != 0) {
			wf_lab_stop(lab, i);
			return -EAGAIN;
		}
	}
	return 0;
}

int wf_lab_create(weft_executor **e, const struct wf_lab_config *c)
{
	struct wf_lab_config cfg = *c;
	struct wf_exec *made;
	struct wf_lab *lab;
	size_t bytes;
	int err;

	if (wf_lab_error(c) != NULL)
		return -EINVAL;
	if (cfg.workers == 0)
		cfg.workers = (uint32_t)wf_min_size(
			wf_os_cpus_default(), WF_LAB_WORKERS_MAX);
	bytes = sizeof(*lab) + cfg.workers * sizeof(lab->workers[0]);
	err = wf_exec_open(
		&made, bytes + wf_lab_queue_bytes(&cfg), submit, destroy);
	if (err)
		return err;
	lab = (struct wf_lab *)made;
	lab->cfg = cfg;
	wf_lab_queues_init(lab, (char *)lab + bytes);
	err = start(lab);
	if (err)
		wf_exec_close(made);
	else
		*e = &made->base;
	return err;
}

void wf_lab_counts(weft_executor *e, uint64_t counts[WF_LAB_COUNTERS])
{
	struct wf_lab *lab = (struct wf_lab *)e;

	for (size_t c = 0; c < WF_LAB_COUNTERS; c++) {
		counts[c] = wf_load_rlx(&lab->counts[c]);
		for (uint32_t i = 0; i < lab->cfg.workers; i++)
			counts[c] += wf_load_rlx(&lab->workers[i].counts[c]);
	}
}
