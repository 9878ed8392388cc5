//go:build !purego

#include "textflag.h"

// LIMB adds limb i of x times DX, and the limb BELOW, to limb i of z; ABOVE is what comes
// above it. The carry flag belongs to sums with the limb below, the overflow flag to those
// with z.
#define LIMB(i, BELOW, ABOVE) \
	MULXQ i*8(SI), AX, ABOVE; \
	ADCXQ BELOW, AX; \
	ADOXQ i*8(DI), AX; \
	MOVQ AX, i*8(DI)

// ROW adds x DX to z, CX limbs from DI and SI on, and leaves the limb above in R8. It moves
// DI and SI behind them, and changes AX, BX, CX, R9 and R10. Both carries are added to the
// limb above at the end of each group, which they cannot overflow: x DX + z + R8 is below
// 2^128 in every limb.
#define ROW(EIGHT, FOUR, REST, ONE, DONE) \
	XORQ R8, R8; \
	MOVQ CX, BX; \
	SHRQ $3, BX; \
	JEQ FOUR; \
EIGHT: \
	XORQ R10, R10; \
	LIMB(0, R8, R9); \
	LIMB(1, R9, R8); \
	LIMB(2, R8, R9); \
	LIMB(3, R9, R8); \
	LIMB(4, R8, R9); \
	LIMB(5, R9, R8); \
	LIMB(6, R8, R9); \
	LIMB(7, R9, R8); \
	ADCXQ R10, R8; \
	ADOXQ R10, R8; \
	LEAQ 64(SI), SI; \
	LEAQ 64(DI), DI; \
	DECQ BX; \
	JNE EIGHT; \
FOUR: \
	TESTQ $4, CX; \
	JEQ REST; \
	XORQ R10, R10; \
	LIMB(0, R8, R9); \
	LIMB(1, R9, R8); \
	LIMB(2, R8, R9); \
	LIMB(3, R9, R8); \
	ADCXQ R10, R8; \
	ADOXQ R10, R8; \
	LEAQ 32(SI), SI; \
	LEAQ 32(DI), DI; \
REST: \
	ANDQ $3, CX; \
	JEQ DONE; \
ONE: \
	XORQ R10, R10; \
	LIMB(0, R8, R9); \
	ADCXQ R10, R9; \
	ADOXQ R10, R9; \
	MOVQ R9, R8; \
	LEAQ 8(SI), SI; \
	LEAQ 8(DI), DI; \
	DECQ CX; \
	JNE ONE; \
DONE:

// func mulAddADX(z, x *uint64, n int, y uint64) (above uint64)
TEXT ·mulAddADX(SB), NOSPLIT, $0-40
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ y+24(FP), DX
	ROW(eight, four, rest, one, done)
	MOVQ R8, above+32(FP)
	RET

// func mulADX(t, x, y *uint64, n int)
TEXT ·mulADX(SB), NOSPLIT, $0-32
	MOVQ t+0(FP), DI
	MOVQ x+8(FP), R11
	MOVQ y+16(FP), R12
	MOVQ n+24(FP), R13
	XORQ AX, AX

zeros:
	MOVQ AX, -8(DI)(R13*8)
	DECQ R13
	JNE zeros
	MOVQ n+24(FP), R13
	MOVQ R13, R15 // rows that are left

row:
	MOVQ (R12), DX
	MOVQ R11, SI
	MOVQ R13, CX
	ROW(eight, four, rest, one, done)
	MOVQ R8, (DI)
	SHLQ $3, R13
	SUBQ R13, DI
	SHRQ $3, R13
	ADDQ $8, DI
	ADDQ $8, R12
	DECQ R15
	JNE row
	RET

// func sqrADX(t, x *uint64, n int)
TEXT ·sqrADX(SB), NOSPLIT, $0-24
	MOVQ t+0(FP), DI
	MOVQ x+8(FP), R11
	MOVQ n+16(FP), R13
	XORQ AX, AX
	MOVQ R13, CX

zeros:
	MOVQ AX, -8(DI)(CX*8)
	DECQ CX
	JNE zeros
	MOVQ R13, R12
	SHLQ $4, R12
	MOVQ AX, -8(DI)(R12*1) // the highest limb

	// Row i adds x[i] times the limbs above it from t[2i+1] on.
	MOVQ R13, R15
	DECQ R15 // limbs of the row
	JEQ squares
	ADDQ $8, DI

row:
	MOVQ (R11), DX
	ADDQ $8, R11
	MOVQ R11, SI
	MOVQ R15, CX
	ROW(eight, four, rest, one, done)
	MOVQ R8, (DI)
	MOVQ R15, AX
	SHLQ $3, AX
	SUBQ AX, DI
	ADDQ $16, DI
	DECQ R15
	JNE row

squares:
	MOVQ t+0(FP), DI
	MOVQ x+8(FP), SI
	XORQ R8, R8   // the bit that doubling moves up
	XORQ R10, R10 // the carry, as 0 or -1

square:
	MOVQ (SI), DX
	MULXQ DX, R11, R12
	MOVQ (DI), AX
	MOVQ 8(DI), BX
	MOVQ BX, R9
	SHRQ $63, R9
	SHLQ $1, AX, BX
	LEAQ (R8)(AX*2), AX
	NEGQ R10
	ADCQ R11, AX
	ADCQ R12, BX
	SBBQ R10, R10
	MOVQ AX, (DI)
	MOVQ BX, 8(DI)
	MOVQ R9, R8
	ADDQ $8, SI
	ADDQ $16, DI
	DECQ R13
	JNE square
	RET

// func reduceADX(t, m *uint64, n int, minus uint64) (above uint64)
TEXT ·reduceADX(SB), NOSPLIT, $0-40
	MOVQ t+0(FP), DI
	MOVQ m+8(FP), R11
	MOVQ n+16(FP), R13
	MOVQ R13, R15 // rows that are left
	XORQ R12, R12 // the carry above, as 0 or -1

row:
	MOVQ minus+24(FP), DX
	IMULQ (DI), DX
	MOVQ R11, SI
	MOVQ R13, CX
	ROW(eight, four, rest, one, done)
	NEGQ R12
	ADCQ R8, (DI)
	SBBQ R12, R12
	SHLQ $3, R13
	SUBQ R13, DI
	SHRQ $3, R13
	ADDQ $8, DI
	DECQ R15
	JNE row
	NEGQ R12
	MOVQ R12, above+32(FP)
	RET

// func subtractBMI2(z, x, m *uint64, n int, above uint64)
// The first loop finds whether x is below m. The second subtracts m times 1 or 0: MULX
// leaves the carry as it is.
TEXT ·subtractBMI2(SB), NOSPLIT, $0-40
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ m+16(FP), R11
	MOVQ n+24(FP), CX
	XORQ R9, R9 // clears the carry, too

compare:
	MOVQ (SI)(R9*8), AX
	SBBQ (R11)(R9*8), AX
	LEAQ 1(R9), R9
	DECQ CX
	JNE compare
	SBBQ DX, DX // -1 where x is below m
	ADDQ $1, DX
	ORQ above+32(FP), DX
	MOVQ n+24(FP), CX
	XORQ R9, R9

subtract:
	MULXQ (R11)(R9*8), BX, R10
	MOVQ (SI)(R9*8), AX
	SBBQ BX, AX
	MOVQ AX, (DI)(R9*8)
	LEAQ 1(R9), R9
	DECQ CX
	JNE subtract
	RET
