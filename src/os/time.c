/* SPDX-License-Identifier: MIT */
/*
 * os/time.c - weft_now and weft_after.
 */
#include <weft/time.h>

#include "base/units.h"
#include "os/os.h"

weft_time weft_now(void)
{
	return wf_os_now_ns();
}

weft_time weft_after(int64_t ns)
{
	weft_time at = wf_time_add(wf_os_now_ns(), ns);

	return at > WEFT_NOW ? at : WEFT_NOW;
}
