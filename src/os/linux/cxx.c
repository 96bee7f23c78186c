/* SPDX-License-Identifier: MIT */
/*
 * os/linux/cxx.c - where the C++ runtime keeps its words.
 *
 * A weak symbol that nothing defines is NULL: in libweft.so, if no library that
 * was loaded with it has the C++ runtime; in a program with libweft.a, also a
 * static one, if nothing else in the program needs the C++ runtime.
 */
#include "os/cxx.h"

/* Its name in the Itanium C++ ABI.  It allocates nothing in libstdc++. */
extern struct wf_cxx *__cxa_get_globals(void) wf_weak;

/* Of every thread, where there is no C++ runtime; read-only to be sure. */
static const struct wf_cxx none;

struct wf_cxx *wf_os_cxx(void)
{
	return __cxa_get_globals ? __cxa_get_globals() : (struct wf_cxx *)&none;
}
