// Package delimited has what fast readers of delimited text (CSV) are made of: borders of records within a block of text,
// so that blocks can be read side by side, and numbers read in place.
package delimited
