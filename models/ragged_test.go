package models_test

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

func TestRaggedInputs(t *testing.T) {
	var inputs []*models.RaggedInput
	_, err := models.Build(models.Options{Batch: 5}, func(b *models.Builder) error {
		ids := b.Ragged("ids", tensor.Int64, models.RaggedSize{Capacity: 4, Length: 8})
		weights := b.Ragged("weights", tensor.Float32, models.RaggedSize{Capacity: 4})
		steps := b.Ragged("steps", tensor.Float32, models.RaggedSize{})
		f := models.NewFeatures(b, models.Feature{Name: "ids", Ragged: ids}, models.Feature{Name: "weights", Ragged: weights}, models.Feature{Name: "steps", Ragged: steps})
		r := f.Ragged("ids").WithWeights(b, f.Ragged("weights"))
		if r.Weights != weights.Values || ids.Weights != nil || r.Name() != "ids" || r.MaxLength() != 8 || r.Width() != 1 {
			t.Errorf("weighted: %+v", r)
		}
		r.Below(10)
		r.Below(7)
		r.Below(9)
		if s := f.Ragged("steps").Steps(3); s.Width() != 3 || s.MaxLength() != 1 {
			t.Errorf("steps: %+v", s)
		}
		if got := ids.Values.Shape(); got[0] != 20 || ids.Offsets.Shape()[0] != 6 {
			t.Errorf("values %v, offsets %v", got, ids.Offsets.Shape())
		}
		inputs = b.RaggedInputs()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ids, weights, steps := inputs[0], inputs[1], inputs[2]
	if ids.Limit != 7 || !ids.Padded || ids.Step != 1 || weights.Like != "ids" || weights.Padded || !steps.Padded || steps.Step != 3 {
		t.Errorf("ids %+v, weights %+v, steps %+v", ids, weights, steps)
	}
}

func TestRaggedFeaturesThatAreNotThere(t *testing.T) {
	_, err := models.Build(models.Options{Batch: 5}, func(b *models.Builder) error {
		f := models.NewFeatures(b, models.Feature{Name: "x", Dense: b.Input("x", tensor.Float32, 5)})
		if r := f.Ragged("x"); r != nil {
			t.Error("x is dense")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), `no ragged feature "x": the input has x`) {
		t.Errorf("got %v", err)
	}
}
