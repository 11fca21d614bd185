//go:build linux && (amd64 || arm64) && !static

package dylib

import "github.com/ebitengine/purego"

func load(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_LOCAL)
}

func symbol(handle uintptr, name string) (uintptr, error) { return purego.Dlsym(handle, name) }

// Call calls the function. A pointer must be converted to uintptr in the call itself. The memory that it points to stays in
// place only until the function returns.
//
//go:uintptrescapes
func (p Proc) Call(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(p), args...)
	return r
}
