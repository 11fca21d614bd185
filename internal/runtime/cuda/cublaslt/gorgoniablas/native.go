//go:build cu

package gorgoniablas

/*
#cgo LDFLAGS: -lcublas
#include <cublas_v2.h>
#include <stdint.h>

static void *at(uintptr_t p) { return (void *)p; }

// Setting the stream resets the workspace.
static cublasStatus_t prepare(void *h, uintptr_t stream, uintptr_t workspace, size_t bytes, int tf32) {
  cublasStatus_t r = cublasSetStream((cublasHandle_t)h, (cudaStream_t)stream);
  if (r == CUBLAS_STATUS_SUCCESS && bytes > 0) r = cublasSetWorkspace((cublasHandle_t)h, (void *)workspace, bytes);
  if (r == CUBLAS_STATUS_SUCCESS) r = cublasSetMathMode((cublasHandle_t)h, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
  return r;
}
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	cublas "gorgonia.org/cu/blas"
)

// prepare sets the stream and the workspace of the next products. Standard begins with the library's handle.
func prepare(b *cublas.Standard, stream uintptr, workspace driver.Ptr, bytes int, tf32 bool) error {
	mode := C.int(0)
	if tf32 {
		mode = 1
	}
	if r := C.prepare(*(*unsafe.Pointer)(unsafe.Pointer(b)), C.uintptr_t(stream), C.uintptr_t(workspace), C.size_t(bytes), mode); r != 0 {
		return fmt.Errorf("cuBLAS: prepare a product: %w", cublas.Status(r))
	}
	return nil
}

// floats returns memory of the GPU as gorgonia.org/cu/blas takes it, which uses only the slice's address.
func floats(p driver.Ptr) []float32 {
	return unsafe.Slice((*float32)(C.at(C.uintptr_t(p))), 1)
}
