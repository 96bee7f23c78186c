/* SPDX-License-Identifier: MIT */
/*
 * arch/ppc64le/entry.S - the first frame of every fiber stack.
 *
 * The switch jumps here, with sp as wf_context_start left it.  The callee finds
 * its table of contents by r12.  The undefined return address ends an unwind
 * here.  If an unwind that ends the thread reaches this frame, the unwinder
 * calls wf_context_unwound (0x1b: given by its distance, in four bytes).
 */
	.abiversion 2
	.text
	.hidden	wf_context_unwound
	.globl	wf_context_entry
	.hidden	wf_context_entry
	.type	wf_context_entry, @function
wf_context_entry:
	.cfi_startproc
	.cfi_personality 0x1b, wf_context_unwound
	.cfi_undefined lr
	ld	12, 32(1)
	ld	3, 40(1)
	mtctr	12
	bctrl
	trap
	.cfi_endproc
	.size	wf_context_entry, . - wf_context_entry

	.section .note.GNU-stack, "", @progbits
