package onnx

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goestimator/goestimator/internal/platform/diskspace"
	"github.com/goestimator/goestimator/internal/platform/hostmemory"
)

// Read reads the model in dir/model.onnx, including data in files beside it.
// The error wraps fs.ErrNotExist if there is no such file, or ErrInvalid if its content is wrong.
func Read(dir string) (*Model, error) { return ReadFile(filepath.Join(dir, File)) }

// ReadFile reads the model in a file, and files in the same folder that it refers to.
func ReadFile(path string) (m *Model, err error) {
	data, err := readWhole(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	f := &files{root: root, open: map[string]*file{}, room: math.MaxInt64}
	if total, ok := hostmemory.Total(); ok {
		f.room = total
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if m, err = unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// readWhole reads a regular file of at most 2 GiB, the limit of protocol buffers.
func readWhole(path string) ([]byte, error) {
	info, err := os.Stat(path) // before opening: a pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %s is %v of %d bytes: expected a file of at most %d", ErrInvalid, path, info.Mode().Type(), info.Size(), math.MaxInt32)
	}
	if n, hollow := diskspace.Hollow(info); hollow {
		return nil, fmt.Errorf("%w: %s has holes: %d of its %d bytes were written", ErrInvalid, path, n, info.Size())
	}
	return os.ReadFile(path)
}

// files are the files beside a model. Each byte is read once: tensors with the same data share memory.
type files struct {
	root *os.Root
	open map[string]*file
	room int64 // bytes of memory that they may still take
}

type file struct {
	*os.File
	size, left int64 // bytes, and bytes not read yet
	parts      map[[2]int64][]byte
}

func (f *files) close() (err error) {
	for _, x := range f.open {
		err = errors.Join(err, x.Close())
	}
	return err
}

// read returns the external data of a tensor, which must have size bytes.
func (f *files) read(entries []*StringStringEntryProto, size int) ([]byte, error) {
	if f == nil {
		return nil, errors.New("its elements are in a file beside the model, which is not there")
	}
	name, offset, length := "", int64(0), int64(size)
	var err error
	for _, e := range entries {
		switch v := e.GetValue(); e.GetKey() {
		case "location":
			name = v
		case "offset":
			offset, err = strconv.ParseInt(v, 10, 64)
		case "length":
			length, err = strconv.ParseInt(v, 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("external data: %s: expected a number, got %q", e.GetKey(), e.GetValue())
		}
	}
	if length != int64(size) {
		return nil, fmt.Errorf("external data of %d bytes: expected %d", length, size)
	}
	x, err := f.file(name)
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	return f.part(x, name, offset, length)
}

// file opens a file in the model's folder, or in a folder below.
func (f *files) file(name string) (*file, error) {
	if x := f.open[name]; x != nil {
		return x, nil
	}
	if !filepath.IsLocal(name) || name == "." {
		return nil, fmt.Errorf("file %q: expected one in the model's folder", name)
	}
	info, err := f.root.Stat(name) // before opening: a pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %v: expected a file", name, info.Mode().Type())
	}
	if n, hollow := diskspace.Hollow(info); hollow {
		return nil, fmt.Errorf("%s has holes: %d of its %d bytes were written", name, n, info.Size())
	}
	o, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	f.open[name] = &file{File: o, size: info.Size(), left: info.Size(), parts: map[[2]int64][]byte{}}
	return f.open[name], nil
}

// part returns a part of a file. Parts may be equal. If parts overlap otherwise, the read fails once they exceed the file's size in total.
func (f *files) part(x *file, name string, offset, length int64) ([]byte, error) {
	at := [2]int64{offset, length}
	if p, ok := x.parts[at]; ok {
		return p, nil
	}
	if offset < 0 || offset > x.size || length > x.size-offset {
		return nil, fmt.Errorf("external data: bytes %d to %d of %s, which has %d", offset, offset+length, name, x.size)
	}
	if x.left -= length; x.left < 0 {
		return nil, fmt.Errorf("external data: tensors overlap in %s", name)
	}
	if f.room -= length; f.room < 0 {
		return nil, fmt.Errorf("external data: %d bytes of %s do not fit into memory: %d are missing", length, name, -f.room)
	}
	p := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(x, offset, length), p); err != nil {
		return nil, fmt.Errorf("external data: %s: %w", name, err)
	}
	x.parts[at] = p
	return p, nil
}
