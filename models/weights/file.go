package weights

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// ErrFormat is wrapped by the errors of files that are damaged, or have unsupported content.
var ErrFormat = tensorfile.ErrFormat

// ErrNotFound is wrapped by the error of a tensor that a file does not have.
var ErrNotFound = errors.New("no such tensor")

// Info describes a tensor of a file.
type Info struct {
	Name  string
	DType tensor.DType
	Shape []int
	Bytes int64 // of its elements in memory
}

// File is an open file, or folder, of named tensors.
type File struct {
	path    string
	format  string
	entries []tensorfile.Entry // by name
	closers []func() error
}

// Path returns the path given to Open.
func (f *File) Path() string { return f.path }

// Format names the file's format, such as "safetensors".
func (f *File) Format() string { return f.format }

// TensorFlow reports whether the file is a checkpoint of TensorFlow or of an Estimator.
func (f *File) TensorFlow() bool { return f.format == checkpointFormat || f.format == v1Format }

// List describes the tensors, sorted by name.
func (f *File) List() []Info {
	list := make([]Info, len(f.entries))
	for i, e := range f.entries {
		list[i] = infoOf(e)
	}
	return list
}

func infoOf(e tensorfile.Entry) Info {
	return Info{Name: e.Name, DType: e.DType, Shape: slices.Clone(e.Shape), Bytes: e.Bytes()}
}

// Lookup describes one tensor.
func (f *File) Lookup(name string) (Info, bool) {
	i, ok := f.find(name)
	if !ok {
		return Info{}, false
	}
	return infoOf(f.entries[i]), true
}

func (f *File) find(name string) (int, bool) {
	return slices.BinarySearchFunc(f.entries, name, func(e tensorfile.Entry, name string) int { return cmp.Compare(e.Name, name) })
}

// Tensor reads one tensor. The error wraps ErrNotFound or ErrFormat, or is an I/O error.
func (f *File) Tensor(name string) (*tensor.Tensor, error) {
	i, ok := f.find(name)
	if !ok {
		return nil, fmt.Errorf("%s: tensor %q: %w", f.path, name, ErrNotFound)
	}
	t, err := f.entries[i].Load()
	if err != nil {
		return nil, fmt.Errorf("%s: tensor %q: %w", f.path, name, err)
	}
	return t, nil
}

// Close closes the file. Tensors that were read stay valid.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c())
	}
	f.closers = nil
	return errors.Join(errs...)
}

// add adds the tensors of another part. Duplicate names are an error.
func (f *File) add(list []tensorfile.Entry) error {
	f.entries = append(f.entries, list...)
	slices.SortStableFunc(f.entries, func(a, b tensorfile.Entry) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(f.entries); i++ {
		if name := f.entries[i].Name; name == f.entries[i-1].Name {
			return tensorfile.Errorf("tensor %q is there twice", name)
		}
	}
	return nil
}
