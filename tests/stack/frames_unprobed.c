/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/frames_unprobed.c - frames.c, compiled so that a frame need not
 * touch its pages: see tests/CMakeLists.txt.
 */
#define frames_probed frames_unprobed

#include "frames.c"
