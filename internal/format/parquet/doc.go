// Package parquet reads the columns of Parquet files as Arrow arrays, including nested ones, and writes record batches. It uses Arrow's code for
// pages, encodings and levels, and turns the levels and values of leaves into arrays itself. Arrow's own package for that imports its compute
// kernels, which add 11 MB to a program.
//
// Damaged bytes may panic in Arrow's code. Callers have to recover, and to read in their own goroutines.
package parquet
