package drivertest

// Kernel is the name of PTX's one function: (int *p, int v, int n) adds v to each of the n elements of p.
const Kernel = "add_int"

// PTX is a module for every GPU since compute capability 7.0.
const PTX = `.version 7.0
.target sm_70
.address_size 64
.visible .entry add_int(
	.param .u64 add_int_p,
	.param .u32 add_int_v,
	.param .u32 add_int_n
)
{
	.reg .pred %done;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [add_int_p];
	ld.param.u32 %r1, [add_int_v];
	ld.param.u32 %r2, [add_int_n];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r6, %r3, %r4, %r5;
	setp.ge.s32 %done, %r6, %r2;
	@%done bra END;
	cvta.to.global.u64 %rd1, %rd1;
	mul.wide.s32 %rd2, %r6, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r7, [%rd3];
	add.s32 %r7, %r7, %r1;
	st.global.u32 [%rd3], %r7;
END:
	ret;
}
`
