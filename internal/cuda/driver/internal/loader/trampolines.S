//go:build cuda && linux && (amd64 || arm64)

/*
 * One function for each name in symbols.h: it jumps to the address in
 * pippin_cuda_table at the same place, with arguments and stack untouched.
 */

#if defined(__x86_64__)

.macro TRAMPOLINE name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	endbr64
	jmpq *pippin_cuda_table + slot(%rip)
	.size \name, . - \name
	.set slot, slot + 8
.endm

#elif defined(__aarch64__)

/* x16 is the register that a call may lose on its way (IP0). */
.macro TRAMPOLINE name
	.globl \name
	.type \name, %function
	.p2align 4
\name:
	hint #34
	adrp x16, pippin_cuda_table + slot
	add x16, x16, :lo12:pippin_cuda_table + slot
	ldr x16, [x16]
	br x16
	.size \name, . - \name
	.set slot, slot + 8
.endm

#endif

	.hidden pippin_cuda_table
	.text
	.set slot, 0

#define FIRST(name) TRAMPOLINE name
#define OTHER(name) TRAMPOLINE name
#include "symbols.h"

	.section .note.GNU-stack, "", %progbits
