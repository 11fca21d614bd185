package estimator_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// oddColumns have rare types, and names that clash with nodes and keys of exports or are
// no valid node names.
func oddColumns() []inputs.NamedTensor {
	const big = 1<<53 + 1
	return []inputs.NamedTensor{
		inputs.Slice("image", inputs.Feature, []uint8{0, 1, 255, 7, 128, 200, 3, 2, 1}, 3),
		inputs.Slice("flag", inputs.Feature, []bool{true, false, true}),
		inputs.Slice("id", inputs.Feature, []int64{big, -big, 1<<63 - 1}),
		inputs.Slice("x y", inputs.Feature, []float64{0.5, 1.5, -2.5}),
		inputs.Slice("x_y", inputs.Feature, []int32{1, 2, 3}),
		inputs.Slice("_lead", inputs.Feature, []float32{1, 2, 3}),
		inputs.Slice(":colon^/", inputs.Feature, []float32{4, 5, 6}),
		inputs.Slice("größe/名", inputs.Feature, []float32{7, 8, 9}),
		inputs.Slice("examples", inputs.Feature, []float32{1, 0, 1}),
		inputs.Slice("input_example_tensor", inputs.Feature, []float32{2, 0, 2}),
		inputs.Slice("global_step", inputs.Feature, []float32{3, 0, 3}),
		inputs.Slice("loss", inputs.Feature, []float32{5, 0, 5}),
		inputs.Slice("save", inputs.Feature, []float32{6, 0, 6}),
		inputs.Slice("unused", inputs.Feature, []float32{8, 0, 8}),
		inputs.Slice("init", inputs.Feature, []float32{8, 0, 8}),
	}
}

// TestExportsOfOddColumns: for columns of any name and type, a server answers the warm-up
// requests with what the estimator predicts.
func TestExportsOfOddColumns(t *testing.T) {
	ctx := context.Background()
	columns := oddColumns()
	fn := estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, _ models.Labels) (*estimator.Spec, error) {
		nodes := estimator.Nodes{}
		for _, c := range columns {
			if c.Name == "unused" {
				continue
			}
			x := f.Dense(c.Name)
			if c.Tensor.DType != tensor.Int64 {
				x = ops.Cast(mc, x, tensor.Float32)
			}
			nodes["of "+c.Name] = ops.Identity(mc, x)
		}
		y := layers.Dense(mc, ops.Reshape(mc, f.Dense("_lead"), mc.Batch(), 1), 1, layers.Weights{})
		nodes["y"] = y
		spec := &estimator.Spec{Predictions: nodes}
		if mc.Mode() == models.Train {
			spec.Loss = ops.Mean(mc, y)
			spec.TrainOp = optimizers.SGD(0.1).Minimize(mc, spec.Loss)
		}
		return spec, mc.Err()
	})
	in := columnsOf(columns...)
	e := custom(t, fn, t.TempDir())
	if _, err := e.Train(ctx, in, estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	want, err := predictAll(e, in)
	if err != nil {
		t.Fatal(err)
	}
	given, err := e.ServingColumns(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, serving := range []estimator.ServingInput{estimator.RawServingInput(given...), estimator.ParsingServingInput(given...)} {
		t.Run(serving.String(), func(t *testing.T) {
			requests, err := e.WarmUpRequests(ctx, serving, in, 5)
			if err != nil || len(requests) != len(want) {
				t.Fatalf("%d requests, %v", len(requests), err)
			}
			dir, err := e.ExportSavedModel(ctx, t.TempDir(), serving)
			if err != nil {
				t.Fatal(err)
			}
			var source servable.Memory
			read, err := savedmodel.Read(dir, savedmodel.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			g, err := read.MetaGraph(savedmodel.TagServe)
			if err != nil {
				t.Fatal(err)
			}
			m, err := session.Load(ctx, g, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			source.Set(servable.ID{Name: "m", Version: 1}, m)
			s := &inference.Service{Models: &source}
			for i, r := range requests {
				req := r.GetPredictLog().GetRequest()
				req.ModelSpec.Name = "m"
				got, err := s.Predict(ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range columns {
					name := "of " + c.Name
					if c.Name == "unused" {
						continue
					}
					out, err := graphdef.FromTensorProto(got.GetOutputs()[name])
					if err != nil {
						t.Fatal(err)
					}
					if w := want[i].Get(name); !bytes.Equal(out.Bytes, w.Bytes) {
						t.Errorf("example %d, %s: got %v, predicted %v", i, name, out, w)
					}
				}
			}
		})
	}
}
