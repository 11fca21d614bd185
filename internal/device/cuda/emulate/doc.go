// Package emulate runs CUDA C++ on the processor, for tests on machines without a GPU: a module's source is compiled by
// the host's C++ compiler behind a small header that gives it blocks, threads, barriers and warp shuffles, and its kernels
// are registered with driver/fake. So what is tested is the text that the GPU runs; what is not are its speed, its memory
// model and its arithmetic units (fused multiply-add, rounding of exp and log).
//
// The threads of a block are coroutines that switch at barriers and shuffles. One block runs at a time.
package emulate
