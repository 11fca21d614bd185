package columns_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	G "gorgonia.org/gorgonia"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/tensor"
)

var near = cmpopts.EquateApprox(1e-6, 1e-6)

// sequenceInputs are ids of a table's rows, with norms of at most 1, and two numbers per step.
func sequenceInputs(t *testing.T) []feature.Input {
	t.Helper()
	ids := &feature.Embedding{Of: &feature.Sequence{Of: &feature.Identity{Key: "a", Size: 3}}, Dimension: 2, MaxNorm: 1}
	p, err := feature.New(feature.Columns{Sequence: []feature.Column{&feature.SequenceNumeric{Key: "b", Shape: []int{2}}, ids}})
	if err != nil {
		t.Fatal(err)
	}
	return p.Sequence()
}

func sequenceFeatures(b *models.Builder, in []feature.Input) models.Features {
	return models.NewFeatures(b,
		models.Feature{Name: in[0].Values, Ragged: b.Ragged("a", tensor.Int64, models.RaggedSize{Capacity: 2, Length: 2})},
		models.Feature{Name: in[1].Values, Ragged: b.Ragged("b", tensor.Float32, models.RaggedSize{Capacity: 4, Length: 2})})
}

func TestSequenceInput(t *testing.T) {
	in := sequenceInputs(t)
	p := modeltest.New(t, models.Options{Mode: models.Eval}, func(b *models.Builder) []*G.Node {
		f := sequenceFeatures(b, in)
		s := columns.SequenceInput(b, f, in, columns.SequenceScope).WithContext(b, b.Input("context", tensor.Float32, b.Batch(), 1))
		mask := columns.SequenceMask(b, f, in)
		if b.Failed() {
			t.Fatal(b.Err())
		}
		return []*G.Node{s.Steps, s.Lengths, mask}
	})
	// Row 1 has a norm of 5, row 2 one of 0.5.
	p.Variables["sequence_features/a_embedding/embedding_weights"] = modeltest.Tensor(tensor.Float32, []float64{1, 0, 3, 4, 0.3, 0.4}, 3, 2)
	vector := func(d tensor.DType, v ...float64) *tensor.Tensor { return modeltest.Tensor(d, v, len(v)) }
	offsets := func(d ...float64) *tensor.Tensor { return vector(tensor.Int64, d...) }
	got := p.Host(t, 3, vector(tensor.Int64, 1, 2, -1, -1, -1, -1), offsets(0, 2, 2, 3), vector(tensor.Float32, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 0, 0), offsets(0, 4, 4, 6),
		modeltest.Tensor(tensor.Float32, []float64{20, 30, 40}, 3, 1))
	want := []float64{
		0.6, 0.8, 5, 6, 20 /**/, 0.3, 0.4, 7, 8, 20,
		0, 0, 0, 0, 30 /**/, 0, 0, 0, 0, 30,
		0, 0, 9, 10, 40 /**/, 0, 0, 0, 0, 40,
	}
	if d := cmp.Diff(want, modeltest.Floats(got[0]), near); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{2, 0, 1}, modeltest.Floats(got[1])); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]bool{true, true, false, false, true, false}, tensor.Values[bool](got[2])); d != "" {
		t.Error(d)
	}
}

func TestWrongSequences(t *testing.T) {
	in := sequenceInputs(t)
	numbers := in[1]
	numbers.Kind = feature.Numbers
	lost := in[0]
	lost.Values = "c"
	for want, list := range map[string][]feature.Input{
		"no columns: expected at least one":                    nil,
		"column b: numbers are no sequence: expected steps of": {in[0], numbers},
		`no ragged feature "c"`:                                {lost},
	} {
		_, err := models.Build(models.Options{Mode: models.Eval, Batch: 2}, func(b *models.Builder) error {
			f := sequenceFeatures(b, in)
			if s := columns.SequenceInput(b, f, list, columns.SequenceScope); s.Steps != nil || s.WithContext(b, nil).Steps != nil {
				t.Errorf("%s: got %v", want, s)
			}
			return b.Err()
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
}
