// Package scalar has the functions of one float that ops are defined by where Go's math has none, for the host's kernels too.
package scalar
