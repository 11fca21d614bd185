package weights

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/hdf5"
	"github.com/goestimator/goestimator/internal/format/keras"
	"github.com/goestimator/goestimator/internal/format/npz"
	"github.com/goestimator/goestimator/internal/format/pytorch"
	"github.com/goestimator/goestimator/internal/format/safetensors"
	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Open opens what path names: a file of weights, the prefix of a checkpoint, or a folder. A
// folder may have a SavedModel, safetensors files, which are read as one, or checkpoints, whose
// newest is read. Open recognises the format by the content, not by names.
func Open(path string) (*File, error) {
	f := &File{path: path}
	err := f.open()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("weights %s: %w", path, err), f.Close())
	}
	return f, nil
}

func (f *File) open() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, none := os.Stat(f.path + ".index"); none != nil {
			return fmt.Errorf("%w: expected a file, a folder, or the prefix of a checkpoint", err)
		}
		return f.openCheckpoint(checkpoint.Open(f.path))
	case err != nil:
		return err
	case info.IsDir():
		return f.openFolder()
	}
	return f.openFile(f.path)
}

func (f *File) openFolder() error {
	saved := filepath.Join(f.path, "variables", "variables")
	if _, err := os.Stat(saved + ".index"); err == nil {
		return f.openCheckpoint(checkpoint.Open(saved))
	}
	parts, err := filepath.Glob(filepath.Join(globEscape(f.path), "*.safetensors"))
	if err != nil || len(parts) == 0 {
		return f.openCheckpoint(checkpoint.OpenLatest(context.Background(), f.path))
	}
	for _, p := range parts {
		if err := f.openFile(p); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(p), err)
		}
	}
	return nil
}

// globEscape returns a pattern that matches only the given path.
func globEscape(path string) string {
	var out []byte
	for _, c := range []byte(path) {
		if c == '*' || c == '?' || c == '[' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return string(out)
}

// openFile opens a file by its content.
func (f *File) openFile(path string) error {
	file, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	f.closers = append(f.closers, file.Close)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("expected a file or a folder")
	}
	head := make([]byte, headBytes)
	n, err := file.ReadAt(head, 0)
	if n == 0 && info.Size() > 0 {
		return err
	}
	read, err := f.readerOf(content{file, info.Size(), head[:n], path})
	if err != nil {
		return err
	}
	list, err := read()
	if err != nil {
		return fmt.Errorf("%s: %w", f.format, err)
	}
	return f.add(list)
}

// headBytes is the number of first bytes of a file that identify its format.
const headBytes = 16

// content is an opened file.
type content struct {
	file *os.File
	size int64
	head []byte
	path string
}

// The formats, as Format returns them.
const (
	safetensorsFormat = "safetensors"
	npzFormat         = "NPZ"
	hdf5Format        = "HDF5"
	kerasFormat       = "Keras archive"
	torchFormat       = "PyTorch"
	checkpointFormat  = "TensorFlow checkpoint"
	v1Format          = "TensorFlow checkpoint (V1)"
)

// readerOf finds the format by the first bytes, and sets it.
func (f *File) readerOf(c content) (func() ([]tensorfile.Entry, error), error) {
	switch {
	case len(c.head) > 3 && string(c.head[:4]) == "PK\x03\x04":
		return f.archive(c)
	case hdf5.Is(c.file, c.size):
		f.format = hdf5Format
		return func() ([]tensorfile.Entry, error) { return keras.ReadH5(c.file, c.size) }, nil
	case isTable(c):
		f.format = v1Format
		return func() ([]tensorfile.Entry, error) { return f.v1(c.path) }, nil
	case pytorch.IsLegacy(c.head):
		f.format = torchFormat
		return func() ([]tensorfile.Entry, error) { return pytorch.ReadLegacy(c.file, c.size) }, nil
	case pytorch.IsPickle(c.head):
		return nil, tensorfile.Errorf("a pickle, which is a program and is not run; of PyTorch, what torch.save wrote is read")
	case safetensors.Is(c.head):
		f.format = safetensorsFormat
		return func() ([]tensorfile.Entry, error) { return safetensors.Read(c.file, c.size) }, nil
	}
	return nil, tensorfile.Errorf("a file that begins with %q: expected %s", c.head, known)
}

// known lists the formats for error messages.
const known = "safetensors, NPZ, HDF5 (.h5), .keras, a state dict of PyTorch, or a checkpoint of TensorFlow"

// archive finds the format of a ZIP file.
func (f *File) archive(c content) (func() ([]tensorfile.Entry, error), error) {
	z, err := zip.NewReader(c.file, c.size)
	if err != nil {
		return nil, tensorfile.Errorf("%w", err)
	}
	if keras.IsArchive(z) {
		f.format = kerasFormat
		return func() ([]tensorfile.Entry, error) { return keras.ReadArchive(z, c.file) }, nil
	}
	if pytorch.IsArchive(z) {
		f.format = torchFormat
		return func() ([]tensorfile.Entry, error) { return pytorch.ReadArchive(z, c.file, c.size) }, nil
	}
	if npz.Has(z) {
		f.format = npzFormat
		return func() ([]tensorfile.Entry, error) { return npz.Read(z) }, nil
	}
	return nil, tensorfile.Errorf("a ZIP file without arrays: expected %s", known)
}
