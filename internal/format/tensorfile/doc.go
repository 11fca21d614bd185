// Package tensorfile has what files of named tensors have in common, whatever their
// format: a list of entries, each of which reads its elements on demand.
package tensorfile
