// Package delimited helps to read delimited text (CSV) fast: it finds the borders of records in a block of text,
// so that blocks can be read in parallel, and reads numbers in place.
package delimited
