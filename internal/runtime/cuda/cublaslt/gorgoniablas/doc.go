// Package gorgoniablas multiplies float32 matrices with gorgonia.org/cu/blas, NVIDIA's cuBLAS, for the driver of package
// driver/gorgoniacu. Like that package it exists only with the build tag cu. It calls the functions that gorgonia.org/cu/blas
// does not have (streams, the workspace, tf32) from the same header. Own kernels do products of other types.
//
// The default is package cublaslt, which needs neither cgo nor a header, and fuses biases and ReLU.
//
// To build it with the headers of NVIDIA's Python packages, which lack a file of the toolkit that testdata of package
// cublaslt stands in for:
//
//	CGO_CFLAGS="-I$PWD/internal/runtime/cuda/cublaslt/testdata/include -I.../nvidia/cublas/include -I.../nvidia/cuda_runtime/include" \
//	  go vet -tags cu ./internal/runtime/cuda/cublaslt/gorgoniablas
package gorgoniablas
