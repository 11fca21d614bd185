package dylib

import (
	"errors"
	"fmt"
)

// ErrNoLoader means that this binary cannot load shared libraries.
var ErrNoLoader = errors.New("this binary cannot load shared libraries: use a build without the tag static, for Linux on amd64 or arm64")

// Library is a loaded library. It stays loaded until the process ends: CUDA's libraries cannot be unloaded safely.
type Library struct {
	path   string
	handle uintptr
}

// Open finds and loads a library, looking in the given directories first.
func Open(name Name, first ...string) (*Library, error) {
	path, err := Find(name, first...)
	if err != nil {
		return nil, err
	}
	handle, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	return &Library{path: path, handle: handle}, nil
}

// Path returns the file that was loaded.
func (l *Library) Path() string { return l.path }

// Proc is a C function whose arguments are integers and pointers of up to 64 bits and whose result is an integer.
type Proc uintptr

// Bind looks functions up by name. Its error names all functions that the library does not have.
func (l *Library) Bind(procs map[string]*Proc) error {
	var errs []error
	for name, p := range procs {
		address, err := symbol(l.handle, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s has no function %s: it is of a version that is too old", l.path, name))
			continue
		}
		*p = Proc(address)
	}
	return errors.Join(errs...)
}
