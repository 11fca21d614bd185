// Package emulate runs CUDA C++ on the processor, for tests on machines without a GPU: a module's source is compiled by
// the host's C++ compiler behind a small header that gives it blocks, threads, barriers and warp shuffles, and its kernels
// are registered with driver/fake. So what is tested is the text that the GPU runs; what is not are its speed, its memory
// model and its arithmetic units (fused multiply-add, rounding of exp and log).
//
// The threads of a block are coroutines that switch at barriers and shuffles; they and the blocks, which run one at a time,
// go on in an order that OrderVariable chooses, at random by default. Shared memory holds anything when a block begins.
// Barriers and shuffles that not all come to are errors.
package emulate
