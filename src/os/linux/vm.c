/* SPDX-License-Identifier: MIT */
/*
 * os/linux/vm.c - pages: map them, guard them, give them back.
 *
 * Many spans go to the kernel in one process_madvise on ourselves.  Where that
 * is refused (by older kernels, and under valgrind, which does not know the
 * call) one madvise for each span does it, for about 0.3 us more each.
 */
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "base/units.h"

/* Newer than the headers we may be built with. */
#define WF_MADV_GUARD_INSTALL 102
#define WF_PIDFD_SELF (-10001)
#define WF_SPANS_MAX 64

size_t wf_os_page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int wf_os_vm_map(void **addr, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	/* Fails only where there are no huge pages. */
	(void)madvise(p, bytes, MADV_NOHUGEPAGE);
	*addr = p;
	return 0;
}

void wf_os_vm_unmap(void *addr, size_t bytes)
{
	(void)munmap(addr, bytes);
}

/* Advise all spans in one call; false if that failed, or failed for some. */
static bool advise_together(
	const struct wf_os_span *spans, size_t n, int advice)
{
	struct iovec io[WF_SPANS_MAX];
	size_t bytes = 0;

	if (wf_on_valgrind())
		return false;
	for (size_t i = 0; i < n; i++) {
		io[i] = (struct iovec){ spans[i].addr, spans[i].bytes };
		bytes += spans[i].bytes;
	}
	return syscall(SYS_process_madvise, WF_PIDFD_SELF, io, n, advice, 0) ==
		(long)bytes;
}

static int advise(const struct wf_os_span *spans, size_t n, int advice)
{
	while (n > 0) {
		size_t some = wf_min_size(n, WF_SPANS_MAX);

		if (some < 2 || !advise_together(spans, some, advice)) {
			for (size_t i = 0; i < some; i++)
				if (madvise(spans[i].addr, spans[i].bytes,
					    advice) < 0)
					return -errno;
		}
		spans += some;
		n -= some;
	}
	return 0;
}

/*
 * An emulator (qemu-user) may accept any advice and do nothing.  It is detected
 * by advice 9999, which does not exist.
 */
static bool advice_is_heard(void)
{
	return madvise(NULL, 0, 9999) < 0;
}

int wf_os_vm_guard(const struct wf_os_span *spans, size_t n)
{
	int err;

	if (n > 0 && !advice_is_heard())
		return -ENOTSUP;
	err = advise(spans, n, WF_MADV_GUARD_INSTALL);
	return err == -EINVAL ? -ENOTSUP : err;
}

int wf_os_vm_discard(const struct wf_os_span *spans, size_t n)
{
	return advise(spans, n, MADV_DONTNEED);
}

int wf_os_vm_protect(void *addr, size_t bytes)
{
	return mprotect(addr, bytes, PROT_NONE) < 0 ? -errno : 0;
}

size_t wf_os_vm_map_limit(void)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	size_t limit;

	if (f == NULL)
		return SIZE_MAX;
	if (fscanf(f, "%zu", &limit) != 1)
		limit = SIZE_MAX;
	fclose(f);
	return limit;
}
