//go:build !purego

#include "textflag.h"

// func mulIFMA(z, x, y, m *uint64, n int, k0 uint64)
// Montgomery's product, a digit of x at a time: z = (z + x_i y + q m) / 2^52, with q so that
// the lowest digit is zero. Sums of digits are carried at the end only. Z0 is x_i, Z1 q, Z4
// what a digit hands on to the next.
TEXT ·mulIFMA(SB), NOSPLIT, $0-48
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ m+24(FP), R8
	MOVQ n+32(FP), R9
	VPBROADCASTQ k0+40(FP), Z6
	MOVQ R9, R12
	SHLQ $6, R12 // bytes of a number
	VPXORQ Z4, Z4, Z4
	XORQ R10, R10

zero:
	VMOVDQU64 Z4, (DI)(R10*1)
	ADDQ $64, R10
	CMPQ R10, R12
	JNE zero

digit:
	VMOVDQU64 (SI), Z0
	VMOVDQU64 (DI), Z2
	VMOVDQU64 (DX), Z3
	VPBROADCASTQ (R8), Z5
	VPXORQ Z1, Z1, Z1
	VPMADD52LUQ Z3, Z0, Z2
	VPMADD52LUQ Z6, Z2, Z1
	VPMADD52LUQ Z5, Z1, Z2
	VPSRLQ $52, Z2, Z4
	VPMADD52HUQ Z3, Z0, Z4
	VPMADD52HUQ Z5, Z1, Z4
	MOVQ $64, R10
	MOVQ $8, R11

row:
	VMOVDQU64 (DX)(R10*1), Z3
	VPBROADCASTQ (R8)(R11*1), Z5
	VPADDQ (DI)(R10*1), Z4, Z2
	VPXORQ Z4, Z4, Z4
	VPMADD52LUQ Z3, Z0, Z2
	VPMADD52HUQ Z3, Z0, Z4
	VPMADD52LUQ Z5, Z1, Z2
	VPMADD52HUQ Z5, Z1, Z4
	VMOVDQU64 Z2, -64(DI)(R10*1)
	ADDQ $8, R11
	ADDQ $64, R10
	CMPQ R10, R12
	JNE row
	VMOVDQU64 Z4, -64(DI)(R10*1)
	ADDQ $64, SI
	DECQ R9
	JNE digit

	MOVQ $0xfffffffffffff, AX
	VPBROADCASTQ AX, Z5
	VPXORQ Z4, Z4, Z4
	XORQ R10, R10

carry:
	VPADDQ (DI)(R10*1), Z4, Z2
	VPSRLQ $52, Z2, Z4
	VPANDQ Z5, Z2, Z2
	VMOVDQU64 Z2, (DI)(R10*1)
	ADDQ $64, R10
	CMPQ R10, R12
	JNE carry
	VZEROUPPER
	RET
