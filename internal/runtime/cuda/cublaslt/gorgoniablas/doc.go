// Package gorgoniablas multiplies float32 matrices by gorgonia.org/cu/blas, NVIDIA's cuBLAS, for the driver of package
// driver/gorgoniacu. Like that it exists with the build tag cu alone. What gorgonia.org/cu/blas lacks (streams, the
// workspace, tf32) is called here, from the same header. Other types are done by the products that it is given.
//
// The default is package cublaslt, which needs neither cgo nor a header, and fuses biases and ReLU.
//
// To build it with the headers of NVIDIA's Python packages, which lack a file of the toolkit that testdata of package
// cublaslt stands in for:
//
//	CGO_CFLAGS="-I$PWD/internal/device/cuda/cublaslt/testdata/include -I.../nvidia/cublas/include -I.../nvidia/cuda_runtime/include" \
//	  go vet -tags cu ./internal/runtime/cuda/cublaslt/gorgoniablas
package gorgoniablas
