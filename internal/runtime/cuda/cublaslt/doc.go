// Package cublaslt multiplies matrices with NVIDIA's cuBLASLt, which is found at run time like all of CUDA's libraries.
// Products implements lower.Products.
//
// Matrices are stored by rows, but cuBLASLt's epilogues want columns. So a product is computed as its transpose, with the
// operands exchanged, which needs no copy. Plan asks the library's heuristic once for each shape. Issue only sets a pointer
// and launches: it allocates nothing on the GPU and can be captured.
//
// The sum of a product may be split, but the parts are never added by atomics or in the result's type. So results are the
// same bits from run to run.
package cublaslt
