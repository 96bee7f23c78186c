/* SPDX-License-Identifier: MIT */
/*
 * os/linux/pin.c - the object that this code is in is opened once more, and
 * never closed.
 *
 * The loader's calls are weak symbols, which a static program may not have; it
 * cannot be unloaded.  And dlopen is looked up by name: linkers warn if a
 * static program mentions it.
 */
#include "os/linux/pin.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>

extern __typeof__(dladdr1) dladdr1 wf_weak;
extern __typeof__(dlsym) dlsym wf_weak;

int wf_pin(void)
{
	__typeof__(dlopen) *open_again;
	struct link_map *object = NULL;
	Dl_info info;

	if (dladdr1 == NULL || dlsym == NULL)
		return 0;
	if (dladdr1((void *)wf_pin, &info, (void **)&object,
		    RTLD_DL_LINKMAP) == 0)
		return 0;
	/* The program itself has no name, and is never unloaded. */
	if (object == NULL || object->l_name[0] == '\0')
		return 0;
	*(void **)&open_again = dlsym(RTLD_DEFAULT, "dlopen");
	if (open_again != NULL &&
		open_again(object->l_name,
			RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL)
		return 0;
	return -ENOMEM;
}
