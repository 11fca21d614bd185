//go:build !linux || !(amd64 || arm64) || static

package dylib

func load(string) (uintptr, error) { return 0, ErrNoLoader }

func symbol(uintptr, string) (uintptr, error) { return 0, ErrNoLoader }

// Call calls the function; there is none to call on this system.
//
//go:uintptrescapes
func (p Proc) Call(...uintptr) uintptr { return ^uintptr(0) }
