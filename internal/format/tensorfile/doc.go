// Package tensorfile is what files of named tensors have in common, whatever their
// format: a list of entries; each reads its elements when it is asked.
package tensorfile
