package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/onnxgraph"
	"github.com/goestimator/goestimator/tensor"
)

// IsONNX reports whether dir holds an ONNX model and no SavedModel.
func IsONNX(dir string) bool {
	for _, name := range []string{savedmodel.BinaryFile, savedmodel.TextFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return false
		}
	}
	_, err := os.Stat(filepath.Join(dir, onnx.File))
	return err == nil
}

// openONNX makes a Session of the ONNX model in dir.
func openONNX(ctx context.Context, dir string, o Options) (*Session, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m, err := onnxgraph.Open(ctx, abs)
	if e := (*onnxgraph.UnsupportedError)(nil); errors.As(err, &e) {
		return nil, ofModel(abs, untranslated(e))
	}
	if err != nil {
		return nil, err
	}
	return load(ctx, m.Graph, m.Values, o)
}

// untranslated is the error for the parts of an ONNX model that cannot be translated.
func untranslated(e *onnxgraph.UnsupportedError) error {
	u := &UnsupportedError{}
	for _, g := range e.Gaps {
		u.Gaps = append(u.Gaps, Gap{Op: g.Op, ONNX: true, Why: g.Why, Nodes: g.Nodes})
	}
	return u
}

// give sets the values of variables.
func (s *Session) give(values map[string]*tensor.Tensor) error {
	for name, t := range values {
		if err := s.env.Resources.Variable(name).Update(func(*tensor.Tensor) (*tensor.Tensor, error) { return t, nil }); err != nil {
			return err
		}
	}
	return nil
}
