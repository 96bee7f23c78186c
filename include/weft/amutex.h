/* SPDX-License-Identifier: MIT */
/*
 * weft/amutex.h - an asynchronous mutex: tasks wait for it, and no thread and
 * no fiber does.
 *
 *	static weft_amutex m;
 *
 *	static void section(weft_task *t)
 *	{
 *		... only one task is here ...
 *		weft_amutex_unlock(&m);
 *	}
 *
 *	t->run = section;
 *	err = weft_amutex_lock(&m, t, executor);
 *
 * To lock is to say which task runs, and where, once it holds the mutex.  A
 * task that has to wait lies in the mutex, linked by its own next_.  Tasks get
 * the mutex in the order of their calls.  It has no lock inside: a thread that
 * is stopped anywhere, and does not hold the mutex, keeps no other thread from
 * locking or unlocking it.
 *
 * A task has no room for its executor, so the mutex remembers the first six
 * executors whose tasks have had to wait for it.  For these, and for tasks that
 * find the mutex free, nothing is allocated.  A waiting task of a seventh
 * executor needs 32 bytes until it holds the mutex.
 *
 * A task that waits cannot be taken back: other tasks are linked to it.  A task
 * that does not need the mutex any more gets it in its turn and unlocks it.
 *
 * A zeroed mutex is valid and unlocked.  It needs no destroy.  For fibers and
 * threads, which can wait, there is weft/mutex.h.
 */
#ifndef WEFT_AMUTEX_H
#define WEFT_AMUTEX_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/task.h>

WEFT_BEGIN_DECLS

typedef struct weft_amutex {
	uint64_t word_;
	uint64_t aside_;
	void *places_[6];
} weft_amutex;

/*
 * Submit t to e once t holds m: in this call if m is free, otherwise in the
 * unlock that hands m over to t.
 *
 * m is locked when t->run is entered, and stays locked until the call of
 * weft_amutex_unlock, also after t->run has returned.  On the inline executor
 * t->run may have returned, and m may be gone, when this call returns.
 *
 * If e refuses t when m is handed over to it, t runs on the inline executor, in
 * the unlock: t was accepted, and m must not stay locked.
 *
 * Returns 0, and t belongs to m or e; -EINVAL if t->run is NULL; -ENOMEM if m
 * is locked and remembers six other executors (see above); if m was free,
 * -ESHUTDOWN if e is stopping, or the error of e's own submit.  On an error t
 * belongs to the caller and does not hold m.
 *
 * Context: any.  Never switches.
 * Order:   everything before the call, and before the unlock by the previous
 *	    holder, happens before t->run is entered.
 */
WEFT_API WEFT_MUST_CHECK int weft_amutex_lock(
	weft_amutex *m, weft_task *t, weft_executor *e);

/*
 * Unlock m: hand it over to the task that has waited longest, and submit that
 * task to its executor.  Any fiber, task or thread may unlock m for the task
 * that holds it.  If no task holds m, that is misuse: weft prints one line and
 * aborts.  This call does not touch m after the next holder can run; that
 * holder may free m.
 *
 * Context: any.  Never switches.
 */
WEFT_API void weft_amutex_unlock(weft_amutex *m);

WEFT_END_DECLS

#endif
