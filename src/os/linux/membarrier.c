/* SPDX-License-Identifier: MIT */
/*
 * os/linux/membarrier.c - a fence in every other thread of the process.
 */
#include "os/os.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"

int wf_os_membarrier_register(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
		    0, 0) == 0)
		return 0;
	return errno == ENOSYS || errno == EINVAL ? -ENOTSUP : -errno;
}

void wf_os_membarrier(void)
{
	long err =
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);

	wf_assert(err == 0, "membarrier used without being registered");
}
