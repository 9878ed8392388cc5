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

// func mulDigitsAVX(z, x, y *uint64, n int)
// A digit is two limbs. Of a column, X0 is the sum of products of lower limbs, X1 of upper
// ones, X2 of sums of both (Karatsuba), and X4 what the column before has above.
TEXT ·mulDigitsAVX(SB), NOSPLIT, $0-32
	MOVQ z+0(FP), BX
	MOVQ n+24(FP), R9
	VPXOR X4, X4, X4
	XORQ R8, R8 // the column

column:
	// x from digit R8-n+1 or 0 on, y from what is left of R8 down.
	MOVQ R8, DX
	SUBQ R9, DX
	INCQ DX
	XORQ AX, AX
	TESTQ DX, DX
	CMOVQLT AX, DX // the first digit of x
	MOVQ R8, CX
	SUBQ DX, CX // the first of y
	MOVQ DX, SI
	SHLQ $4, SI
	ADDQ x+8(FP), SI
	MOVQ CX, DI
	SHLQ $4, DI
	ADDQ y+16(FP), DI
	SUBQ DX, CX
	INCQ CX // how many
	VPXOR X0, X0, X0
	VPXOR X1, X1, X1
	VPXOR X2, X2, X2

digit:
	VMOVDQU (SI), X5
	VMOVDQU (DI), X6
	VPSHUFD $0x4e, X5, X9
	VPSHUFD $0x4e, X6, X10
	VPXOR X5, X9, X9
	VPXOR X6, X10, X10
	VPCLMULQDQ $0x00, X6, X5, X7
	VPCLMULQDQ $0x11, X6, X5, X8
	VPCLMULQDQ $0x00, X10, X9, X9
	VPXOR X7, X0, X0
	VPXOR X8, X1, X1
	VPXOR X9, X2, X2
	ADDQ $16, SI
	SUBQ $16, DI
	DECQ CX
	JNE digit

	VPXOR X0, X2, X2
	VPXOR X1, X2, X2
	VPSLLDQ $8, X2, X5
	VPSRLDQ $8, X2, X6
	VPXOR X0, X4, X4
	VPXOR X5, X4, X4
	VMOVDQU X4, (BX)
	VPXOR X1, X6, X4
	ADDQ $16, BX
	INCQ R8
	LEAQ -1(R9)(R9*1), AX
	CMPQ R8, AX
	JNE column
	VMOVDQU X4, (BX)
	RET

// func sqrPCLMULQDQ(z, x *uint64, n int)
TEXT ·sqrPCLMULQDQ(SB), NOSPLIT, $0-24
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX

square:
	MOVQ (SI), X0
	PCLMULQDQ $0, X0, X0
	MOVOU X0, (DI)
	ADDQ $8, SI
	ADDQ $16, DI
	DECQ CX
	JNE square
	RET

// func foldPCLMULQDQ(z, l, h *uint64, n int, top, tail uint64)
TEXT ·foldPCLMULQDQ(SB), NOSPLIT, $0-48
	MOVQ z+0(FP), DI
	MOVQ l+8(FP), DX
	MOVQ h+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ top+32(FP), X1
	MOVQ tail+40(FP), X0
	PCLMULQDQ $0, X0, X1
	PSRLDQ $8, X1
	MOVQ (SI), X3
	PXOR X1, X3 // the first limb with what h tail overflows by
	PXOR X2, X2 // the upper limb of the product before
	JMP first

next:
	MOVQ (SI), X3

first:
	PCLMULQDQ $0, X0, X3
	PXOR X3, X2
	MOVQ X2, AX
	XORQ (DX), AX
	MOVQ AX, (DI)
	PSRLDQ $8, X3
	MOVOA X3, X2
	ADDQ $8, SI
	ADDQ $8, DX
	ADDQ $8, DI
	DECQ CX
	JNE next
	RET
