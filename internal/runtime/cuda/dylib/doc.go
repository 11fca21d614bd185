// Package dylib finds the shared libraries of CUDA at run time and calls into them without cgo.
//
// If a library is absent, Find and Open return a *NotFoundError that lists where they looked, so that users learn why no GPU
// is used. Builds with the tag static, and systems other than Linux on amd64 and arm64, have no loader: Open then returns
// ErrNoLoader.
package dylib
