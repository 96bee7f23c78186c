/* SPDX-License-Identifier: MIT */
/*
 * os/linux/cxx.c - the address of the C++ runtime's words.
 *
 * A weak symbol that nothing defines is NULL: in libweft.so, if no library that
 * was loaded with it contains the C++ runtime; in a program with libweft.a,
 * also a static one, if nothing else in the program needs the C++ runtime.
 */
#include "os/cxx.h"

/* The name is from the Itanium C++ ABI.  In libstdc++ it does not allocate. */
extern struct wf_cxx *__cxa_get_globals(void) wf_weak;

/*
 * The words of every thread if there is no C++ runtime; const as a safeguard.
 */
static const struct wf_cxx none;

struct wf_cxx *wf_os_cxx(void)
{
	return __cxa_get_globals ? __cxa_get_globals() : (struct wf_cxx *)&none;
}
