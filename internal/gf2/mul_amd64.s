//go:build !purego

#include "textflag.h"

// func mulAddPCLMULQDQ(z, x *uint64, n int, y uint64)
// A product of two limbs has two; the upper one, in X2, goes to the next place.
TEXT ·mulAddPCLMULQDQ(SB), NOSPLIT, $0-32
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ y+24(FP), X0
	PXOR X2, X2

loop:
	MOVQ (SI), X1
	PCLMULQDQ $0, X0, X1
	PXOR X2, X1
	MOVQ X1, AX
	XORQ AX, (DI)
	PSRLDQ $8, X1
	MOVOA X1, X2
	ADDQ $8, SI
	ADDQ $8, DI
	DECQ CX
	JNE loop
	MOVQ X2, AX
	XORQ AX, (DI)
	RET
