// Package nvrtc compiles CUDA C++ to PTX with NVIDIA's run-time compiler, libnvrtc, found at run time and called without
// cgo. It needs no GPU. The CUDA toolkit carries it, and so does the Python package nvidia-cuda-nvrtc-cu12.
//
// Cache keeps what was compiled, in memory and in a directory.
package nvrtc
