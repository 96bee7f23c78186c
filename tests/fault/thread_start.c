/* SPDX-License-Identifier: MIT */
/*
 * tests/fault/thread_start.c - threads that cannot be made, as os_faults.h
 * plans it: for tests that are linked with --wrap=wf_os_thread_start.
 */
#include <errno.h>

#include "os/os.h"
#include "support/os_faults.h"

int __real_wf_os_thread_start(struct wf_os_thread *t, void (*fn)(void *),
	void *arg, size_t stack_bytes, const char *name);
int __wrap_wf_os_thread_start(struct wf_os_thread *t, void (*fn)(void *),
	void *arg, size_t stack_bytes, const char *name);

int __wrap_wf_os_thread_start(struct wf_os_thread *t, void (*fn)(void *),
	void *arg, size_t stack_bytes, const char *name)
{
	if (os_faults_hit(OS_FAULTS_THREAD))
		return -EAGAIN;
	return __real_wf_os_thread_start(t, fn, arg, stack_bytes, name);
}
