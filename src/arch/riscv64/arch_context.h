/* SPDX-License-Identifier: MIT */
/*
 * arch/riscv64/arch_context.h - the switch for RV64GC, LP64D.
 *
 * fcsr belongs to the thread: a fiber that changes the rounding mode must put
 * it back before it can wait.
 */
#ifndef WF_ARCH_RISCV64_ARCH_CONTEXT_H
#define WF_ARCH_RISCV64_ARCH_CONTEXT_H

#include "base/compiler.h"

struct wf_context {
	void *sp;		/* the assembly knows offsets 0 to 24 */
	void *pc;
	void *fp;
	void *bp;		/* s1 */
};

/* A new stack, for the entry code: its words, and the index of the entry. */
#define WF_START_WORDS 2
#define WF_START_ENTRY 0

/* gcc 12 does not probe large frames here, so the guard is wide. */
#define WF_ARCH_GUARD_BYTES 65536

#ifdef __riscv_vector
#define WF_CLOBBER_VECTOR                                                  \
	, "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",      \
		"v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",    \
		"v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",    \
		"v26", "v27", "v28", "v29", "v30", "v31"
#else
#define WF_CLOBBER_VECTOR
#endif

wf_inline void wf_context_switch(struct wf_context *from, struct wf_context *to)
{
	register struct wf_context *from_ __asm__("a0") = from;
	register struct wf_context *to_ __asm__("a1") = to;

	__asm__ volatile(
		"lla	a2, 1f\n\t"
		"sd	sp, 0(a0)\n\t"
		"sd	a2, 8(a0)\n\t"
		"sd	s0, 16(a0)\n\t"
		"sd	s1, 24(a0)\n\t"
		"ld	a2, 8(a1)\n\t"
		"ld	s0, 16(a1)\n\t"
		"ld	s1, 24(a1)\n\t"
		"ld	sp, 0(a1)\n\t"
		"jr	a2\n"
		"1:"
		: "+r"(from_), "+r"(to_)
		:
		: "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a2", "a3",
		"a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6",
		"s7", "s8", "s9", "s10", "s11", "ft0", "ft1", "ft2", "ft3",
		"ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10", "ft11",
		"fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8",
		"fs9", "fs10", "fs11", "fa0", "fa1", "fa2", "fa3", "fa4",
		"fa5", "fa6", "fa7" WF_CLOBBER_VECTOR, "memory");
}

/* In a spin loop.  `pause' is a hint of Zihintpause; without it, a fence. */
wf_inline void wf_cpu_relax(void)
{
	__asm__ volatile(".4byte 0x0100000f" ::: "memory");
}

#endif
