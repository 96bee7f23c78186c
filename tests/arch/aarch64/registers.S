/* SPDX-License-Identifier: MIT */
/*
 * tests/arch/aarch64/registers.S - the registers of AAPCS64.
 *
 * Preserved: x19 to x29 and the lower halves of v8 to v15.
 */
	.text
	.globl	registers_around
	.type	registers_around, @function
registers_around:
	stp	x29, x30, [sp, -176]!
	stp	x19, x20, [sp, 16]
	stp	x21, x22, [sp, 32]
	stp	x23, x24, [sp, 48]
	stp	x25, x26, [sp, 64]
	stp	x27, x28, [sp, 80]
	stp	d8, d9, [sp, 96]
	stp	d10, d11, [sp, 112]
	stp	d12, d13, [sp, 128]
	stp	d14, d15, [sp, 144]
	str	x1, [sp, 160]
	.irp	n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
	ldr	x\n, [x0, 8 * (\n - 19)]
	.endr
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15
	ldr	d\n, [x0, 88 + 8 * (\n - 8)]
	.endr
	mov	x0, x3
	blr	x2
	ldr	x1, [sp, 160]
	.irp	n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
	str	x\n, [x1, 8 * (\n - 19)]
	.endr
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15
	str	d\n, [x1, 88 + 8 * (\n - 8)]
	.endr
	ldp	x19, x20, [sp, 16]
	ldp	x21, x22, [sp, 32]
	ldp	x23, x24, [sp, 48]
	ldp	x25, x26, [sp, 64]
	ldp	x27, x28, [sp, 80]
	ldp	d8, d9, [sp, 96]
	ldp	d10, d11, [sp, 112]
	ldp	d12, d13, [sp, 128]
	ldp	d14, d15, [sp, 144]
	ldp	x29, x30, [sp], 176
	ret
	.size	registers_around, . - registers_around

/* x18 is a platform's own on some systems; on Linux anyone may use it. */
	.globl	registers_trash
	.type	registers_trash, @function
registers_trash:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, \
		17, 18
	mov	x\n, -0x5a5b
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, \
		24, 25, 26, 27, 28, 29, 30, 31
	dup	v\n\().2d, x0
	.endr
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15
	ins	v\n\().d[1], x0
	.endr
	ret
	.size	registers_trash, . - registers_trash

	.section .rodata
	.globl	registers_names
	.balign	8
registers_names:
	.irp	r, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, x29, \
		d8, d9, d10, d11, d12, d13, d14, d15
	.asciz	"\r"
	.balign	8
	.endr
	.quad	0

	.section .note.GNU-stack, "", @progbits
