#include "textflag.h"

// A C function (comm, ranks, rank, config, id, f) that returns f(comm, ranks, *id, rank, config): in the System V calling
// convention a struct of 128 bytes that is passed by value lies on the stack, and takes no register.
TEXT byValue<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	SUBQ $128, SP
	MOVUPS 0(R8), X0
	MOVUPS 16(R8), X1
	MOVUPS 32(R8), X2
	MOVUPS 48(R8), X3
	MOVUPS 64(R8), X4
	MOVUPS 80(R8), X5
	MOVUPS 96(R8), X6
	MOVUPS 112(R8), X7
	MOVUPS X0, 0(SP)
	MOVUPS X1, 16(SP)
	MOVUPS X2, 32(SP)
	MOVUPS X3, 48(SP)
	MOVUPS X4, 64(SP)
	MOVUPS X5, 80(SP)
	MOVUPS X6, 96(SP)
	MOVUPS X7, 112(SP)
	CALL R9
	ADDQ $128, SP
	POPQ BP
	RET

DATA ·byValueAddress(SB)/8, $byValue<>(SB)
GLOBL ·byValueAddress(SB), NOPTR|RODATA, $8
