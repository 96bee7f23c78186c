/* SPDX-License-Identifier: MIT */
/*
 * rt/config.h - a configuration, checked and with its defaults filled in.
 */
#ifndef WF_RT_CONFIG_H
#define WF_RT_CONFIG_H

#include <stddef.h>

#include <weft/runtime.h>

#include "base/compiler.h"

/*
 * Fill in the defaults of cfg (NULL: all), size bytes of it; 0, -EINVAL or
 * -E2BIG, and then why says what is wrong.
 */
wf_must_check int wf_config_fill(weft_config *out, const weft_config *cfg,
	size_t size, char *why, size_t why_bytes);

#endif
