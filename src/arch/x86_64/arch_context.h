/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/arch_context.h - the switch for x86-64, System V ABI.
 *
 * MXCSR and the x87 control word are callee-saved in the ABI but belong to the
 * thread here: a fiber that changes the rounding mode must put it back before
 * it can wait.
 */
#ifndef WF_ARCH_X86_64_ARCH_CONTEXT_H
#define WF_ARCH_X86_64_ARCH_CONTEXT_H

#include "base/compiler.h"

struct wf_context {
	void *sp;		/* the assembly knows offsets 0 to 24 */
	void *pc;
	void *fp;
	void *bp;		/* rbx */
};

/* A new stack, for the entry code: its words, and the index of the entry. */
#define WF_START_WORDS 2
#define WF_START_ENTRY 0

/* Frames of this size or less cannot skip the guard, even without probes. */
#define WF_ARCH_GUARD_BYTES 16384

#ifdef __AVX512F__
#define WF_CLOBBER_AVX512                                                  \
	, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22",   \
		"xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28",      \
		"xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4",   \
		"k5", "k6", "k7"
#else
#define WF_CLOBBER_AVX512
#endif

wf_inline void wf_context_switch(struct wf_context *from, struct wf_context *to)
{
	__asm__ volatile(
		"leaq	1f(%%rip), %%rax\n\t"
		"movq	%%rsp, 0(%0)\n\t"
		"movq	%%rax, 8(%0)\n\t"
		"movq	%%rbp, 16(%0)\n\t"
		"movq	%%rbx, 24(%0)\n\t"
		"movq	0(%1), %%rsp\n\t"
		"movq	16(%1), %%rbp\n\t"
		"movq	24(%1), %%rbx\n\t"
		"jmpq	*8(%1)\n"
		"1:\n\t"
		"endbr64"
		: "+D"(from), "+S"(to)
		:
		: "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13",
		"r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
		"xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
		"xmm13", "xmm14", "xmm15", "mm0", "mm1", "mm2", "mm3", "mm4",
		"mm5", "mm6", "mm7", "st", "st(1)", "st(2)", "st(3)", "st(4)",
		"st(5)", "st(6)", "st(7)" WF_CLOBBER_AVX512, "cc", "memory");
}

/* In a spin loop: leave the pipeline to a sibling thread. */
wf_inline void wf_cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

#endif
