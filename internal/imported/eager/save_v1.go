package eager

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// saveV1 writes tensors, or slices of partitioned ones, to a file of version 1. The tensors are the inputs from index fixed on.
func saveV1(fixed int) kernel {
	return func(c call) error {
		if len(c.in) < fixed {
			return fmt.Errorf("expected a file name and names, got %d inputs", len(c.in))
		}
		file, err := filePath("filename", c.t(0))
		if err != nil {
			return err
		}
		names, specs := c.t(1).Strings, make([][]byte, c.t(1).Len())
		if fixed == 3 {
			specs = c.t(2).Strings
		}
		if n := len(c.in) - fixed; len(names) != n || len(specs) != n {
			return fmt.Errorf("expected %d names and slices, got %d and %d", n, len(names), len(specs))
		}
		fsys, err := c.files(file)
		if err != nil {
			return err
		}
		w := bundle.NewV1Writer()
		for i, name := range names {
			if err := saveOne(w, string(name), string(specs[i]), c.t(fixed+i)); err != nil {
				return err
			}
		}
		if err := c.pay(w.Largest()); err != nil {
			return err
		}
		if err := atomicfile.MkdirAll(fsys, filepath.Dir(file)); err != nil {
			return err
		}
		return w.Write(fsys, file)
	}
}

// restoreV1 reads a tensor, or a slice of it, from files of version 1.
func restoreV1(s *site) (kernel, error) {
	want := s.dtype("dt", tensor.Float32)
	return func(c call) error {
		pattern, err := filePath("file_pattern", c.t(0))
		if err != nil {
			return err
		}
		name, err := text("tensor_name", c.t(1))
		if err != nil {
			return err
		}
		var spec []byte
		if len(c.in) > 2 {
			if spec, err = text("shape_and_slice", c.t(2)); err != nil {
				return err
			}
		}
		r, err := c.checkpointV1(pattern)
		if err != nil {
			return err
		}
		defer r.Close()
		t, err := r.Tensor(string(name))
		if errors.Is(err, bundle.ErrNotFound) {
			return fmt.Errorf("Tensor name %q not found in checkpoint files %s: %w", clip(name), clip([]byte(pattern)), bundle.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if t.DType != want {
			return fmt.Errorf("Expected to restore a tensor of type %s, got a tensor of type %s instead: tensor_name = %s", typeText(want), typeText(t.DType), clip(name))
		}
		return c.restored(0, t, string(spec))
	}, nil
}

// checkpointReader is an open checkpoint.
type checkpointReader interface {
	Tensor(name string) (*tensor.Tensor, error)
	Close() error
}

// checkpoint opens a checkpoint of either version, as RestoreV2 does: without an index file, it is version 1.
func (c call) checkpoint(prefix string) (checkpointReader, error) {
	if c.env == nil || c.env.Bundle == nil {
		return nil, fmt.Errorf("checkpoint %q: this model may read no checkpoints", clip([]byte(prefix)))
	}
	r, err := c.env.Bundle(prefix)
	if err == nil {
		return r, nil
	}
	if !errors.Is(err, fs.ErrNotExist) || c.env.Files == nil {
		return nil, err
	}
	if old, errOld := c.checkpointV1(prefix); !errors.Is(errOld, fs.ErrNotExist) {
		return old, errOld
	}
	return nil, err
}

// checkpointV1 opens the files of a checkpoint of version 1.
func (c call) checkpointV1(pattern string) (*bundle.V1, error) {
	paths, err := c.glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for %s: %w", clip([]byte(pattern)), fs.ErrNotExist)
	}
	fsys, err := c.files(paths[0])
	if err != nil {
		return nil, err
	}
	return bundle.OpenV1(fsys, paths, c.pay)
}
