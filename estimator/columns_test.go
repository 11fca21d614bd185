package estimator_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/google/go-cmp/cmp"
)

// flowers has columns with arbitrary names: two measures, one note and the target.
var flowers = estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
	ds, err := inputs.Slices(nil,
		inputs.Slice("sepal length (cm)", inputs.Feature, []float32{1, 2, 3, 4}, 1),
		inputs.Slice("sepal_length (cm)", inputs.Feature, []float32{4, 1, 3, 2}, 1),
		inputs.Strings("note (free text)", inputs.Feature, []string{"a", "b", "c", "d"}),
		inputs.Slice("Größe", inputs.Label, []float32{3, 3, 6, 6}, 1))
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Batch(2, false)), nil
})

// flowerModel names its prediction after a column.
func flowerModel(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
	x := ops.Concat(mc, -1, f.Dense("sepal length (cm)"), f.Dense("sepal_length (cm)"))
	y := layers.Dense(mc, x, 1, layers.Weights{})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"Größe (cm)": y, "sepal length (cm)": f.Dense("sepal length (cm)")}}
	if mc.Mode() != models.Predict {
		spec.Loss = losses.MeanSquaredError(mc, l.Only(), y, losses.Options{})
	}
	if mc.Mode() == models.Train {
		o := optimizers.SGD(0.01)
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

func TestColumnsOfAnyName(t *testing.T) {
	ctx := context.Background()
	e := custom(t, estimator.ModelFunc(flowerModel), t.TempDir())
	if _, err := e.Train(ctx, forever(flowers), estimator.MaxSteps(20)); err != nil {
		t.Fatal(err)
	}
	var got []float64
	for p, err := range e.Predict(ctx, flowers) {
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Names()) != 2 || p.Get("Größe (cm)") == nil {
			t.Fatalf("predictions %v", p.Names())
		}
		got = append(got, p.Get("sepal length (cm)").Float(0))
	}
	if d := cmp.Diff([]float64{1, 2, 3, 4}, got); d != "" {
		t.Error(d)
	}
	for _, mode := range []models.Mode{models.Train, models.Eval, models.Predict} {
		d, err := e.Describe(ctx, mode, flowers)
		if err != nil {
			t.Fatal(err)
		}
		var columns, tensors []string
		for _, in := range d.Inputs {
			columns, tensors = append(columns, in.Column.Name), append(tensors, in.Tensor)
		}
		wantColumns, wantTensors := []string{"sepal length (cm)", "sepal_length (cm)"}, []string{"features/sepal_length__cm_:0", "features/sepal_length__cm__1:0"}
		if mode != models.Predict {
			wantColumns, wantTensors = append(wantColumns, "Größe"), append(wantTensors, "labels/Gr__e:0")
		}
		if diff := cmp.Diff(wantColumns, columns) + cmp.Diff(wantTensors, tensors); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
		importable(t, estimator.GraphOf(d))
	}
}

// importable checks that a graph has TensorFlow's names and survives a round trip.
func importable(t *testing.T, g *graph.Graph) {
	t.Helper()
	valid := regexp.MustCompile(`^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$`)
	for _, n := range g.Nodes() {
		if !valid.MatchString(n.Name) {
			t.Errorf("node %q", n.Name)
		}
	}
	b, err := graphdef.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	back, err := graphdef.Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := graphdef.Marshal(back); err != nil || string(again) != string(b) {
		t.Errorf("the graph that was read back is another (%v)", err)
	}
}

func TestTextThatTheModelUsesIsNamed(t *testing.T) {
	ctx := context.Background()
	uses := map[string]estimator.ModelFn{
		"a prediction": estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
			spec, err := flowerModel(mc, f, l)
			spec.Predictions["note"] = f.Dense("note (free text)")
			return spec, err
		}),
		"an op": estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
			spec, err := flowerModel(mc, f, l)
			spec.Predictions["note"] = ops.ExpandDims(mc, f.Dense("note (free text)"), -1)
			return spec, err
		}),
	}
	for what, fn := range uses {
		_, err := custom(t, fn, t.TempDir()).Train(ctx, forever(flowers), estimator.MaxSteps(1))
		if err == nil || !strings.Contains(err.Error(), `column "note (free text)" is text, and the model uses it: give it a vocabulary, or leave it out with role: ignore`) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
