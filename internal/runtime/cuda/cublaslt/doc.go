// Package cublaslt multiplies matrices by NVIDIA's cuBLASLt, found at run time like all of CUDA's libraries: Products
// implements lower.Products.
//
// Matrices are stored by rows, and cuBLASLt's epilogues want columns: a product is asked for as its transpose, with the
// operands in each other's place, which needs no copy. For each shape the library's heuristic is asked once, at the time of
// Plan. Issue only sets a pointer and launches: it allocates nothing on the GPU and can be captured.
//
// The sum of a product may be split, but never added up by atomics or in the result's type: results are the same bits from
// run to run.
package cublaslt
