/* SPDX-License-Identifier: MIT */
/*
 * arch/ppc64le/arch_context.h - the switch for ppc64le, ELFv2 ABI.
 *
 * It also saves r2, the table of contents of the module that it leaves, because
 * r2 cannot be listed as clobbered.  r13 is the thread pointer and stays with
 * the thread, as do FPSCR and VSCR.
 */
#ifndef WF_ARCH_PPC64LE_ARCH_CONTEXT_H
#define WF_ARCH_PPC64LE_ARCH_CONTEXT_H

#include "base/compiler.h"

struct wf_context {
	void *sp;		/* the assembly knows offsets 0 to 32 */
	void *pc;
	void *fp;
	void *bp;		/* r30 */
	void *toc;
};

/* A new stack, for the entry code: its words, and the index of the entry. */
#define WF_START_WORDS 6
#define WF_START_ENTRY 4

/* Frames of this size or less cannot skip the guard, even without probes. */
#define WF_ARCH_GUARD_BYTES 16384

wf_inline void wf_context_switch(struct wf_context *from, struct wf_context *to)
{
	register struct wf_context *from_ __asm__("r3") = from;
	register struct wf_context *to_ __asm__("r4") = to;

	__asm__ volatile(
		"bcl	20, 31, 0f\n"
		"0:\n\t"
		"mflr	5\n\t"
		"addi	5, 5, 1f - 0b\n\t"
		"std	1, 0(3)\n\t"
		"std	5, 8(3)\n\t"
		"std	31, 16(3)\n\t"
		"std	30, 24(3)\n\t"
		"std	2, 32(3)\n\t"
		"ld	12, 8(4)\n\t"
		"ld	31, 16(4)\n\t"
		"ld	30, 24(4)\n\t"
		"ld	2, 32(4)\n\t"
		"ld	1, 0(4)\n\t"
		"mtctr	12\n\t"
		"bctr\n"
		"1:"
		: "+r"(from_), "+r"(to_)
		:
		: "r0", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12",
		"r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22",
		"r23", "r24", "r25", "r26", "r27", "r28", "r29", "fr0",
		"fr1", "fr2", "fr3", "fr4", "fr5", "fr6", "fr7", "fr8", "fr9",
		"fr10", "fr11", "fr12", "fr13", "fr14", "fr15", "fr16", "fr17",
		"fr18", "fr19", "fr20", "fr21", "fr22", "fr23", "fr24", "fr25",
		"fr26", "fr27", "fr28", "fr29", "fr30", "fr31", "v0", "v1",
		"v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
		"v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
		"v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
		"v30", "v31", "cr0", "cr1", "cr2", "cr3", "cr4", "cr5", "cr6",
		"cr7", "lr", "ctr", "xer", "memory");
}

/* In a spin loop: lower the thread's priority for a moment. */
wf_inline void wf_cpu_relax(void)
{
	__asm__ volatile("or 27, 27, 27" ::: "memory");
}

#endif
