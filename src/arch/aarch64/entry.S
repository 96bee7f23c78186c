/* SPDX-License-Identifier: MIT */
/*
 * arch/aarch64/entry.S - the first frame of every fiber stack.
 *
 * The switch jumps here, with sp as wf_context_start left it.  The undefined
 * return address ends an unwind here.  If an unwind that ends the thread
 * reaches this frame, the unwinder calls wf_context_unwound (0x1b: given by its
 * distance, in four bytes).  `hint 36' is `bti j'.
 */
	.text
	.hidden	wf_context_unwound
	.globl	wf_context_entry
	.hidden	wf_context_entry
	.type	wf_context_entry, @function
wf_context_entry:
	.cfi_startproc
	.cfi_personality 0x1b, wf_context_unwound
	.cfi_undefined x30
	hint	36
	ldp	x1, x0, [sp]
	blr	x1
	brk	0x1
	.cfi_endproc
	.size	wf_context_entry, . - wf_context_entry

/* For the linker: indirect branches land on bti. */
	.section .note.gnu.property, "a"
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000000, 4, 1, 0

	.section .note.GNU-stack, "", @progbits
