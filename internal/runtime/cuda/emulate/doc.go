// Package emulate runs CUDA C++ on the processor, for tests on machines without a GPU. The host's C++ compiler compiles a
// module's source after a small header with blocks, threads, barriers and warp shuffles, and the kernels are registered with
// driver/fake. So the tests run the same source text as the GPU, but do not test its speed, memory model and arithmetic units
// (fused multiply-add, rounding of exp and log).
//
// The threads of a block are coroutines that switch at barriers and shuffles. Blocks run one at a time. OrderVariable chooses
// the order of threads and blocks, at random by default. Shared memory is undefined when a block begins. Barriers and shuffles
// that not all threads reach are errors.
package emulate
