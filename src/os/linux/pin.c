/* SPDX-License-Identifier: MIT */
/*
 * os/linux/pin.c - open the object that contains this code once more, and never
 * close it.
 *
 * The loader's functions are weak symbols, because a static program may not
 * have them; such a program cannot be unloaded.  dlopen is looked up by name,
 * because linkers warn if a static program mentions it.
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
