// Package parquet reads the columns of Parquet files as arrays of Arrow, nested ones too, and writes record batches. Pages, encodings and levels are
// Arrow's; what the levels and values of leaves mean as arrays is here. Arrow's own package for that imports its compute kernels, which need 11 MB of
// a program.
//
// Damaged bytes may panic in Arrow's code. Callers recover, and read in goroutines of their own.
package parquet
