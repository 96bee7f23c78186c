/* SPDX-License-Identifier: MIT */
/*
 * tests/arch/riscv64/registers.S - the registers of LP64D.
 *
 * Preserved: s0 to s11, fs0 to fs11.
 */
	.text
	.globl	registers_around
	.type	registers_around, @function
registers_around:
	addi	sp, sp, -208
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	sd	s\n, 8 * \n(sp)
	fsd	fs\n, 96 + 8 * \n(sp)
	.endr
	sd	ra, 192(sp)
	sd	a1, 200(sp)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	ld	s\n, 8 * \n(a0)
	fld	fs\n, 96 + 8 * \n(a0)
	.endr
	mv	a0, a3
	jalr	a2
	ld	a1, 200(sp)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	sd	s\n, 8 * \n(a1)
	fsd	fs\n, 96 + 8 * \n(a1)
	.endr
	ld	ra, 192(sp)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	ld	s\n, 8 * \n(sp)
	fld	fs\n, 96 + 8 * \n(sp)
	.endr
	addi	sp, sp, 208
	ret
	.size	registers_around, . - registers_around

	.globl	registers_trash
	.type	registers_trash, @function
registers_trash:
	.irp	r, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
	li	\r, -0x5a5a
	.endr
	.irp	r, ft0, ft1, ft2, ft3, ft4, ft5, ft6, ft7, ft8, ft9, ft10, \
		ft11, fa0, fa1, fa2, fa3, fa4, fa5, fa6, fa7
	fmv.d.x	\r, a0
	.endr
	ret
	.size	registers_trash, . - registers_trash

	.section .rodata
	.globl	registers_names
	.balign	8
registers_names:
	.irp	r, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, \
		fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
	.asciz	"\r"
	.balign	8
	.endr
	.quad	0

	.section .note.GNU-stack, "", @progbits
