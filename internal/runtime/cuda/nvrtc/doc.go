// Package nvrtc compiles CUDA C++ to PTX with NVIDIA's run-time compiler, libnvrtc, found at run time and called without
// cgo. It needs no GPU. The library is in the CUDA toolkit and in the Python package nvidia-cuda-nvrtc-cu12.
//
// Cache keeps compiled programs in memory and in a directory.
package nvrtc
