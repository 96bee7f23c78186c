/* SPDX-License-Identifier: MIT */
/*
 * tests/arch/ppc64le/registers.S - the registers of the ELFv2 ABI.
 *
 * Preserved: r14 to r31, f14 to f31, v20 to v31, fields 2 to 4 of cr.  So is
 * r2, unless the function that is called needs it: that one then sets it, by
 * r12, to what it is in this module.
 */
	.abiversion 2

/* The frame: the ABI's 32 bytes, two pointers, what is preserved. */
#define IN	32
#define OUT	40
#define GPRS	64
#define FPRS	208
#define VRS	352
#define FRAME	544

/* Offsets into in and out. */
#define R2	144
#define F14	152
#define CR	296
#define V20	304

	/* \op every f14 to f31 and r14 to r31, at these offsets from base. */
	.macro	each_scalar opr, opf, base, gprs, fprs
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, \
		28, 29, 30, 31
	\opr	\n, \gprs + 8 * (\n - 14)(\base)
	\opf	\n, \fprs + 8 * (\n - 14)(\base)
	.endr
	.endm

	/* Apply op to v20 to v31; r11 is overwritten. */
	.macro	each_vector op, base, vrs
	.irp	n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	li	11, \vrs + 16 * (\n - 20)
	\op	\n, 11, \base
	.endr
	.endm

	.text
	.globl	registers_around
	.type	registers_around, @function
registers_around:
	mflr	0
	std	0, 16(1)
	mfcr	0
	stw	0, 8(1)
	stdu	1, -FRAME(1)
	std	2, 24(1)
	std	3, IN(1)
	std	4, OUT(1)
	each_scalar std, stfd, 1, GPRS, FPRS
	each_vector stvx, 1, VRS

	each_scalar ld, lfd, 3, 0, F14
	each_vector lvx, 3, V20
	ld	2, R2(3)
	ld	7, CR(3)
	mtcrf	0x38, 7
	mr	12, 5
	mr	3, 6
	mtctr	12
	bctrl

	ld	3, IN(1)
	ld	4, OUT(1)
	each_scalar std, stfd, 4, 0, F14
	each_vector stvx, 4, V20
	ld	5, 24(1)
	cmpd	5, 2
	bne	0f
	ld	2, R2(3)
0:
	std	2, R2(4)
	mfcr	5
	lis	7, 0x00ff
	ori	7, 7, 0xf000
	and	5, 5, 7
	ld	6, CR(3)
	andc	6, 6, 7
	or	6, 6, 5
	std	6, CR(4)

	ld	2, 24(1)
	each_scalar ld, lfd, 1, GPRS, FPRS
	each_vector lvx, 1, VRS
	addi	1, 1, FRAME
	ld	0, 16(1)
	mtlr	0
	lwz	0, 8(1)
	mtcrf	0x38, 0
	blr
	.size	registers_around, . - registers_around

/* The lower halves of f14 to f31, as vectors, are anyone's too. */
	.globl	registers_trash
	.type	registers_trash, @function
registers_trash:
	.irp	n, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
	li	\n, -0x5a5a
	.endr
	mtctr	12
	mtcrf	0xc7, 12
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, \
		17, 18, 19
	vspltisw \n, -7
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
	xxlor	\n, 32, 32
	.endr
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, \
		28, 29, 30, 31
	xxpermdi \n, \n, 32, 1
	.endr
	blr
	.size	registers_trash, . - registers_trash

	.macro	name n
	.asciz	"\n"
	.balign	8
	.endm

	.section .rodata
	.globl	registers_names
	.balign	8
registers_names:
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, \
		28, 29, 30, 31
	name	r\n
	.endr
	name	r2
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, \
		28, 29, 30, 31
	name	f\n
	.endr
	name	cr2-4
	.irp	n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	name	v\n
	name	v\n
	.endr
	.quad	0

	.section .note.GNU-stack, "", @progbits
