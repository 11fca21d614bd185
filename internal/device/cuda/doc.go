// Package cuda looks for NVIDIA GPUs and for what it takes to use them, and says why there is none.
//
// Its parts: dylib finds shared libraries, driver and its implementations talk to GPUs, nvrtc compiles, kernels holds the
// own kernels, emulate runs those on the processor.
package cuda
