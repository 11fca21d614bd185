package interop_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// TestONNXReadsBack exports ops one by one as ONNX and loads the models: they give the graph's results.
func TestONNXReadsBack(t *testing.T) {
	s := newOpSheet(t)
	translated, dir := export.OnnxOps(), t.TempDir()
	n := 0
	for _, c := range slices.Concat(imageOps(), classOps(), mathOps(), shapeOps(), onnxImageOps(), onnxMathOps(), onnxShapeOps(), onnxIndexOps()) {
		op, _, _ := strings.Cut(c.name, " ")
		if !slices.Contains(translated, op) || refusedByONNX[c.name] != "" {
			continue
		}
		before := len(s.fetches)
		if s.add(c); s.b.Err() != nil {
			t.Fatalf("%s: %v", c.name, s.b.Err())
		}
		model, err := export.ONNX(atomicfile.OS{}, filepath.Join(dir, fmt.Sprint(n)), s.onnx(s.fetches[before:]), export.Options{})
		if err == nil {
			err = s.readBack(t, model, s.fetches[before:])
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		n++
	}
	if n < 100 {
		t.Errorf("%d cases", n)
	}
}

// readBack compares the model in dir with the given outputs of the sheet.
func (s *opSheet) readBack(t *testing.T, dir string, outputs []graph.Output) error {
	m, err := session.Open(t.Context(), dir, session.Options{MaxConcurrent: 1})
	if err != nil {
		return err
	}
	defer m.Close()
	whole, err := session.Of(s.b.Graph, session.Options{MaxConcurrent: 1})
	if err != nil {
		return err
	}
	defer whole.Close()
	sig := m.Signatures()[savedmodel.DefaultSignature]
	feeds, own := map[string]*tensor.Tensor{}, map[string]*tensor.Tensor{}
	for _, p := range s.ins {
		own[p.String()] = s.feeds[p.String()]
		if in := sig.GetInputs()[p.Node.Name]; in != nil {
			feeds[in.GetName()] = s.feeds[p.String()]
		}
	}
	for i, o := range outputs {
		want, err := whole.Run(t.Context(), own, []string{o.String()})
		if err != nil {
			return err
		}
		got, err := m.Run(t.Context(), feeds, []string{sig.GetOutputs()[fmt.Sprintf("out%d", i)].GetName()})
		if err != nil {
			return err
		}
		if err := equalNumbers(got[0], want[0]); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// equalNumbers compares numbers to 1e-5 of max(1, |value|); ONNX's indices have another integer type.
func equalNumbers(got, want *tensor.Tensor) error {
	if !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("got shape %v, expected %v", got.Shape, want.Shape)
	}
	if want.DType == tensor.String {
		for i := range want.Strings {
			if string(got.Strings[i]) != string(want.Strings[i]) {
				return fmt.Errorf("element %d: got %q, expected %q", i, got.Strings[i], want.Strings[i])
			}
		}
		return nil
	}
	for i := range want.Len() {
		a, b := got.Float(i), want.Float(i)
		if !testkit.Near(a, b, 1e-5*max(1, math.Abs(b))) {
			return fmt.Errorf("element %d: got %v, expected %v", i, a, b)
		}
	}
	return nil
}
