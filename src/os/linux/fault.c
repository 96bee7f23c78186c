/* SPDX-License-Identifier: MIT */
/*
 * os/linux/fault.c - call a function on a bad access, before the program ends.
 *
 * The handler stays for the life of the process: a handler that was installed
 * after ours may call ours, so ours can never be removed safely.  The code
 * stays in memory with it, also when a plug-in that contains it is unloaded
 * (os/linux/pin.h).
 */
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/units.h"
#include "os/linux/pin.h"

#define WF_ALTSTACK_BYTES (64 * WF_KIB)

static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static bool installed;		  /* under install_lock */
static struct sigaction previous; /* written before ours is installed */
static _Atomic(wf_os_fault_fn *) watcher;

/*
 * Call the handler that was installed before, or let the default action end the
 * program.
 */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(sig, info, context);
	} else if (previous.sa_handler != SIG_DFL &&
		previous.sa_handler != SIG_IGN) {
		previous.sa_handler(sig);
	} else {
		/*
		 * Return without a handler: the access faults again, and that
		 * ends the program.  A signal that was sent must be sent again
		 * for that.
		 */
		struct sigaction none = { .sa_handler = SIG_DFL };

		sigaction(sig, &none, NULL);
		if (info->si_code <= 0)
			raise(sig);
	}
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	/* [pair: fault.watch] See the data that fn may use. */
	wf_os_fault_fn *fn = wf_load_acq(&watcher);

	/* A signal that was sent has no address. */
	if (fn != NULL && info->si_code > 0)
		fn(info->si_addr);
	errno = saved;
	pass_on(sig, info, context);
}

static int install(void)
{
	struct sigaction ours = { .sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK };
	int err = wf_pin();

	if (err)
		return err;
	sigemptyset(&ours.sa_mask);
	if (sigaction(SIGSEGV, NULL, &previous) < 0 ||
		sigaction(SIGSEGV, &ours, NULL) < 0)
		return -errno;
	return 0;
}

int wf_os_fault_watch(wf_os_fault_fn *fn)
{
	int err = 0;

	/* [pair: fault.watch] Show the data that fn may use. */
	wf_store_rel(&watcher, fn);
	pthread_mutex_lock(&install_lock);
	if (!installed)
		err = install();
	installed = !err;
	pthread_mutex_unlock(&install_lock);
	return err;
}

int wf_os_altstack_open(struct wf_os_altstack *a)
{
	stack_t now, ours = { .ss_size = WF_ALTSTACK_BYTES };
	int err;

	a->memory = NULL;
	if (sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE))
		return 0;
	err = wf_os_vm_map(&ours.ss_sp, WF_ALTSTACK_BYTES);
	if (err)
		return err;
	if (sigaltstack(&ours, NULL) < 0) {
		err = -errno;
		wf_os_vm_unmap(ours.ss_sp, WF_ALTSTACK_BYTES);
		return err;
	}
	a->memory = ours.ss_sp;
	return 0;
}

void wf_os_altstack_close(struct wf_os_altstack *a)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	if (a->memory == NULL)
		return;
	if (sigaltstack(&none, NULL) == 0)
		wf_os_vm_unmap(a->memory, WF_ALTSTACK_BYTES);
	a->memory = NULL;
}

void wf_os_complain(const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(STDERR_FILENO, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		bytes -= (size_t)n;
	}
}
