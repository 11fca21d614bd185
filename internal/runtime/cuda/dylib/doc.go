// Package dylib finds the shared libraries of CUDA at run time and calls into them without cgo.
//
// A library that is absent is no fault of the machine: Find and Open then return a *NotFoundError that lists where they
// looked, so that a user learns why there is no GPU. Builds with the tag static, and systems other than Linux on amd64
// and arm64, have no loader: Open says so.
package dylib
