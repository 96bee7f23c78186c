/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/entry.S - the first frame of every fiber stack.
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
	.cfi_undefined rip
	endbr64
	movq	8(%rsp), %rdi
	callq	*0(%rsp)
	ud2
	.cfi_endproc
	.size	wf_context_entry, . - wf_context_entry

/*
 * Functions marked wf_return_by_jump return through this; the compiler demands
 * this name.  rcx never holds a result, so it may be used.
 */
	.globl	__x86_return_thunk
	.hidden	__x86_return_thunk
	.type	__x86_return_thunk, @function
__x86_return_thunk:
	.cfi_startproc
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rcx
	notrack jmpq *%rcx
	.cfi_endproc
	.size	__x86_return_thunk, . - __x86_return_thunk

/*
 * For the linker: indirect branches land on endbr64 (IBT); no shadow stack
 * (SHSTK).
 */
	.section .note.gnu.property, "a"
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000002, 4, 1, 0

	.section .note.GNU-stack, "", @progbits
