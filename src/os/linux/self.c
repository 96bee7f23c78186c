/* SPDX-License-Identifier: MIT */
/*
 * os/linux/self.c - the thread's own word, and the watch for its end.
 *
 * The destructor of a pthread key runs when a thread ends, whatever ended the
 * thread, if the thread has stored a value for the key.  The thread stores one
 * when its word is set for the first time.
 */
#include "os/self.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "os/linux/pin.h"
#include "os/os.h"

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key; /* written before watcher is set */
static _Atomic(wf_os_exit_fn *) watcher;
static _Thread_local bool is_watched;

#if defined(__x86_64__)
wf_kept _Thread_local void *wf_os_self_word;
#else
static _Thread_local void *wf_os_self_word;

void *wf_os_self(void)
{
	/*
	 * Keeps the compiler from merging two calls: the thread may have
	 * changed.
	 */
	__asm__ volatile("");
	return wf_os_self_word;
}
#endif

/* The destructor of the key. */
static void on_exit_of_thread(void *value)
{
	/* [pair: self.watch] See the data that fn may use. */
	wf_os_exit_fn *fn = wf_load_acq(&watcher);

	(void)value;
	/* Destructors that run later may still set the word. */
	is_watched = false;
	if (wf_os_self_word != NULL)
		fn();
}

static wf_noinline void watch_this_thread(void)
{
	/* [pair: self.watch] The key exists. */
	if (wf_load_acq(&watcher) != NULL)
		is_watched = pthread_setspecific(key, &key) == 0;
}

int wf_os_exit_watch(wf_os_exit_fn *fn)
{
	int err = 0;

	pthread_mutex_lock(&watch_lock);
	/* Relaxed: written under the lock. */
	if (wf_load_rlx(&watcher) == NULL) {
		err = wf_pin();
		if (!err && pthread_key_create(&key, on_exit_of_thread) != 0)
			err = -ENOMEM;
	}
	if (!err)
		/*
		 * [pair: self.watch] Show the key, and the data that fn may
		 * use.
		 */
		wf_store_rel(&watcher, fn);
	pthread_mutex_unlock(&watch_lock);
	return err;
}

void *wf_os_self_set(void *self)
{
	void *before;

	__asm__ volatile("");
	before = wf_os_self_word;
	wf_os_self_word = self;
	if (wf_unlikely(!is_watched) && self != NULL)
		watch_this_thread();
	return before;
}

const void *wf_os_self_place(void)
{
	__asm__ volatile("");
	return &wf_os_self_word;
}
