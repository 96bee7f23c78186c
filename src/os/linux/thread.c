/* SPDX-License-Identifier: MIT */
/*
 * os/linux/thread.c - threads, with signals blocked.
 */
#include "os/os.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct start {
	void (*fn)(void *);
	void *arg;
	char name[16]; /* the kernel keeps 15 characters */
};

static void *enter(void *p)
{
	struct start start = *(struct start *)p;

	wf_os_free(p);
	if (start.name[0] != '\0')
		(void)pthread_setname_np(pthread_self(), start.name);
	start.fn(start.arg);
	return NULL;
}

/*
 * A thread inherits the signal mask of its creator.  So block all signals while
 * the thread is created; then none can arrive in it before it has its mask.
 */
static int create_masked(pthread_t *id, size_t stack_bytes, struct start *start)
{
	sigset_t mask, old;
	pthread_attr_t attr;
	int err;

	sigfillset(&mask);
	sigdelset(&mask, SIGSEGV);
	sigdelset(&mask, SIGBUS);
	sigdelset(&mask, SIGFPE);
	sigdelset(&mask, SIGILL);
	sigdelset(&mask, SIGTRAP);
	sigdelset(&mask, SIGSYS);
	sigdelset(&mask, SIGABRT);
	err = pthread_attr_init(&attr);
	if (err)
		return -err;
	if (stack_bytes != 0)
		err = pthread_attr_setstacksize(&attr, stack_bytes);
	if (!err) {
		pthread_sigmask(SIG_SETMASK, &mask, &old);
		err = pthread_create(id, &attr, enter, start);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_attr_destroy(&attr);
	return -err;
}

int wf_os_thread_start(struct wf_os_thread *t, void (*fn)(void *), void *arg,
	size_t stack_bytes, const char *name)
{
	struct start *start = wf_os_alloc(sizeof(*start));
	int err;

	if (start == NULL)
		return -ENOMEM;
	start->fn = fn;
	start->arg = arg;
	if (name != NULL)
		strncpy(start->name, name, sizeof(start->name) - 1);
	err = create_masked(&t->id, stack_bytes, start);
	if (err)
		wf_os_free(start);
	return err;
}

void wf_os_thread_join(struct wf_os_thread *t)
{
	(void)pthread_join(t->id, NULL);
}

void wf_os_thread_detach(struct wf_os_thread *t)
{
	(void)pthread_detach(t->id);
}

void wf_os_thread_yield(void)
{
	(void)sched_yield();
}

/* glibc 2.36 has neither the struct nor the call. */
struct sched_attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

void wf_os_thread_slice(int64_t ns)
{
	struct sched_attributes a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) != 0)
		return;
	a.runtime = (uint64_t)ns;
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}
