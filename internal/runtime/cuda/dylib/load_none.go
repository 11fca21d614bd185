//go:build !linux || !(amd64 || arm64) || static

package dylib

func load(string) (uintptr, error) { return 0, ErrNoLoader }

func symbol(uintptr, string) (uintptr, error) { return 0, ErrNoLoader }

// Call would call the function, but this system has no loader.
//
//go:uintptrescapes
func (p Proc) Call(...uintptr) uintptr { return ^uintptr(0) }
