// Package scalar has the functions of one float that ops and the host's kernels need and Go's math package lacks.
package scalar
