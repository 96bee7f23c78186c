/* SPDX-License-Identifier: MIT */
/*
 * arch/aarch64/arch_context.h - the switch for AArch64, AAPCS64.
 *
 * FPCR belongs to the thread: a fiber that changes the rounding mode must put
 * it back before it can wait.
 */
#ifndef WF_ARCH_AARCH64_ARCH_CONTEXT_H
#define WF_ARCH_AARCH64_ARCH_CONTEXT_H

#include "base/compiler.h"

struct wf_context {
	void *sp;		/* the assembly knows offsets 0 to 24 */
	void *pc;
	void *fp;
	void *bp;		/* x19 */
};

/* A new stack, for the entry code: its words, and the index of the entry. */
#define WF_START_WORDS 2
#define WF_START_ENTRY 0

/* gcc probes large frames on the assumption of a guard this wide. */
#define WF_ARCH_GUARD_BYTES 65536

#ifdef __ARM_FEATURE_SVE
#define WF_CLOBBER_SVE                                                     \
	, "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9",      \
		"p10", "p11", "p12", "p13", "p14", "p15"
#else
#define WF_CLOBBER_SVE
#endif

/* "hint 36" is `bti j', in a form that every assembler knows. */
wf_inline void wf_context_switch(struct wf_context *from, struct wf_context *to)
{
	register struct wf_context *from_ __asm__("x0") = from;
	register struct wf_context *to_ __asm__("x1") = to;

	__asm__ volatile(
		"adr	x3, 1f\n\t"
		"mov	x2, sp\n\t"
		"stp	x2, x3, [x0]\n\t"
		"stp	x29, x19, [x0, 16]\n\t"
		"ldp	x2, x3, [x1]\n\t"
		"ldp	x29, x19, [x1, 16]\n\t"
		"mov	sp, x2\n\t"
		"br	x3\n"
		"1:\n\t"
		"hint	36"
		: "+r"(from_), "+r"(to_)
		:
		: "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
		"x12", "x13", "x14", "x15", "x16", "x17", "x18", "x20", "x21",
		"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0",
		"v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",
		"v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19",
		"v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
		"v29", "v30", "v31" WF_CLOBBER_SVE, "cc", "memory");
}

/* In a spin loop: leave the pipeline to a sibling thread. */
wf_inline void wf_cpu_relax(void)
{
	__asm__ volatile("isb" ::: "memory");
}

#endif
