/* SPDX-License-Identifier: MIT */
/*
 * arch/riscv64/entry.S - the first frame of every fiber stack.
 *
 * The switch jumps here, with sp as wf_context_start left it.  The undefined
 * return address ends an unwind here.  If an unwind that ends the thread
 * reaches this frame, the unwinder calls wf_context_unwound (0x1b: given by its
 * distance, in four bytes).
 */
	.text
	.hidden	wf_context_unwound
	.globl	wf_context_entry
	.hidden	wf_context_entry
	.type	wf_context_entry, @function
wf_context_entry:
	.cfi_startproc
	.cfi_personality 0x1b, wf_context_unwound
	.cfi_undefined ra
	ld	a1, 0(sp)
	ld	a0, 8(sp)
	jalr	a1
	ebreak
	.cfi_endproc
	.size	wf_context_entry, . - wf_context_entry

	.section .note.GNU-stack, "", @progbits
