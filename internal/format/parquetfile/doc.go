// Package parquetfile writes records of numbers, truth values, texts and fixed-size lists of them to Parquet files, with the Arrow schema, so that
// they read back with the same types.
//
// Arrow's own writer takes any record. It holds all kernels of Arrow's compute package for dictionaries, which are an eighth of a binary; this one
// has no dictionaries of the caller's and no nulls.
package parquetfile
