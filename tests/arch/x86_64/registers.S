/* SPDX-License-Identifier: MIT */
/*
 * tests/arch/x86_64/registers.S - the registers of the System V ABI.
 *
 * Preserved: rbx, rbp, r12 to r15.
 */
	.text
	.globl	registers_around
	.type	registers_around, @function
registers_around:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rsi
	movq	0(%rdi), %rbx
	movq	8(%rdi), %rbp
	movq	16(%rdi), %r12
	movq	24(%rdi), %r13
	movq	32(%rdi), %r14
	movq	40(%rdi), %r15
	movq	%rcx, %rdi
	callq	*%rdx
	popq	%rsi
	movq	%rbx, 0(%rsi)
	movq	%rbp, 8(%rsi)
	movq	%r12, 16(%rsi)
	movq	%r13, 24(%rsi)
	movq	%r14, 32(%rsi)
	movq	%r15, 40(%rsi)
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	retq
	.size	registers_around, . - registers_around

/* The x87 stack must be empty between functions, so it is filled and popped. */
	.globl	registers_trash
	.type	registers_trash, @function
registers_trash:
	.irp	r, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
	movq	$-0x5a5a, %\r
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	pcmpeqd	%xmm\n, %xmm\n
	.endr
	.rept	8
	fldpi
	.endr
	.rept	8
	fstp	%st(0)
	.endr
	retq
	.size	registers_trash, . - registers_trash

	.section .rodata
	.globl	registers_names
	.balign	8
registers_names:
	.irp	r, rbx, rbp, r12, r13, r14, r15
	.asciz	"\r"
	.balign	8
	.endr
	.quad	0

	.section .note.GNU-stack, "", @progbits
