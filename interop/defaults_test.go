package interop_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// defaultsRows are rows with missing values.
var defaultsRows = []string{
	`{"age": 31.5, "hours": 40, "pair": [1.5, 2], "trade": "nurse", "grade": 2, "fee": 0.5, "kind": "8"}`,
	`{"age": 20, "trade": "baker", "kind": "3"}`,
	`{"hours": 12, "pair": [0.25, -1], "grade": 0, "fee": 2, "kind": "5"}`,
	`{"kind": "8"}`,
	`{"age": 64, "hours": -3, "pair": [3, 3], "trade": "", "grade": 3, "fee": 1.5, "kind": "3"}`,
	`{"age": -1.25, "hours": 7, "trade": "smith", "grade": 1, "kind": "5"}`,
}

var defaultsColumns = []inputs.ColumnSpec{
	{Name: "age", Default: 40.5}, {Name: "hours", DType: "int64", Default: 38}, {Name: "pair", Shape: []int{2}, Default: 0.75},
	{Name: "trade", DType: "string", Default: "nurse"}, {Name: "grade", DType: "int64", Default: 1}, {Name: "fee", Default: 1.25},
	{Name: "kind", Role: inputs.Label, Vocabulary: []string{"3", "5", "8"}}}

// TestDefaultsAndNamesAreServed: if an example has no value, TensorFlow also uses the column's default,
// as in training. The classes have the names from the label column's vocabulary.
func TestDefaultsAndNamesAreServed(t *testing.T) {
	py := peers(t)
	names := []string{"3", "5", "8"}
	set, err := feature.Build([]feature.Spec{
		{Name: "age", Type: "numeric", Key: "age", Normalize: feature.NormalizeSpec{Mean: []float64{40}, Std: []float64{15}}},
		{Name: "raw", Type: "numeric", Key: "age", Default: new(float64)}, {Name: "ages", Type: "bucketized", Of: "raw", Boundaries: []float64{30, 50}},
		{Name: "hours", Type: "numeric", Key: "hours"}, {Name: "pair", Type: "numeric", Key: "pair", Shape: []int{2}},
		{Name: "trade", Type: "vocabulary", Key: "trade", Vocabulary: []string{"baker", "nurse", "smith"}},
		{Name: "trade_vector", Type: "embedding", Of: "trade", Dimension: 2}, {Name: "grade", Type: "identity", Key: "grade", Buckets: 4},
		{Name: "paid", Type: "weighted", Of: "grade", WeightKey: "fee"},
		{Name: "both", Type: "crossed", Buckets: 10, Keys: []feature.CrossPart{{Key: "trade"}, {Column: "ages"}}}})
	if err != nil {
		t.Fatal(err)
	}
	deep, err := canned.Named("dnn_linear_combined_classifier", estimator.Params{"n_classes": 3, "class_names": names, "dnn_hidden_units": []int{4},
		"linear_feature_columns": []string{"ages", "trade", "paid", "both"}, "dnn_feature_columns": []string{"raw", "hours", "pair", "trade_vector"}}, set)
	if err != nil {
		t.Fatal(err)
	}
	head := heads.MultiClass(3, heads.WithClassNames(names...))
	net, err := networks.New("mlp", map[string]any{"hidden_units": []int{4}})
	if err != nil {
		t.Fatal(err)
	}
	plain := heads.ModelFn(net, head, optimizers.SGD(0.01))
	ids := slices.Clone(defaultsColumns) // the model without feature columns reads words as ids
	ids[3] = inputs.ColumnSpec{Name: "trade", Default: "smith", Vocabulary: []string{"baker", "nurse", "smith", ""}}
	work := t.TempDir()
	var list []servedCase
	list = append(list, servedDefaults(t, filepath.Join(work, "columns"), deep, true, inputs.Spec{Columns: defaultsColumns})...)
	list = append(list, servedDefaults(t, filepath.Join(work, "plain"), plain, false, inputs.Spec{Columns: ids, Scale: 10, Mean: []float64{0.5}, Std: []float64{3}})...)
	checkServed(t, py, work, list)
}

// servedDefaults trains a model for a few steps and exports it both ways.
func servedDefaults(t *testing.T, dir string, fn estimator.ModelFn, planned bool, spec inputs.Spec) []servedCase {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	spec.Format, spec.BatchSize, spec.Files = "jsonl", 3, []string{filepath.Join(dir, "rows.jsonl")}
	write(t, spec.Files[0], []byte(strings.Join(defaultsRows, "\n")))
	in := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		return inputs.Open(ctx, spec, ic)
	})
	e, err := estimator.New(fn, estimator.WithModelDir(filepath.Join(dir, "model")))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Train(t.Context(), in, estimator.Steps(2)); err != nil {
		t.Fatal(err)
	}
	columns, err := e.ServingColumns(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	feeds := filled(t, in)
	given := maps.Clone(feeds)
	if planned { // numeric columns parse floats
		given["hours"] = floats32(feeds["hours"])
	}
	feeds["examples"] = incomplete(t, spec.Columns, given)
	feeds["inputs"] = feeds["examples"]
	fed, want := save(t, filepath.Join(dir, "feeds"), feeds), save(t, filepath.Join(dir, "want"), predictions(t, e, in))
	var out []servedCase
	for _, serving := range []estimator.ServingInput{estimator.RawServingInput(columns...), estimator.ParsingServingInput(columns...)} {
		model, err := e.ExportSavedModel(t.Context(), filepath.Join(dir, serving.String()), serving)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, servedCase{filepath.Base(dir) + "/" + serving.String(), model, fed, want})
	}
	return out
}

func floats32(x *tensor.Tensor) *tensor.Tensor {
	out := tensor.New(tensor.Float32, x.Shape...)
	for i := range x.Len() {
		tensor.Values[float32](out)[i] = float32(x.Float(i))
	}
	return out
}

// filled are the features that the model trains on, with defaults filled in.
func filled(t *testing.T, in estimator.InputFn) map[string]*tensor.Tensor {
	t.Helper()
	ds, err := in.Input(t.Context(), inputs.Context{Mode: inputs.Predict, GlobalBatch: len(defaultsRows)})
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	tensors, err := inputs.Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*tensor.Tensor{}
	for _, c := range tensors {
		out[c.Name] = c.Tensor.Clone()
		for i, s := range out[c.Name].Strings {
			out[c.Name].Strings[i] = append([]byte{}, s...)
		}
	}
	return out
}

// incomplete are the rows as examples without features for missing values.
func incomplete(t *testing.T, columns []inputs.ColumnSpec, values map[string]*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	out := tensor.New(tensor.String, len(defaultsRows))
	for i, line := range defaultsRows {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		features := map[string]*example_protos_go_proto.Feature{}
		for _, c := range columns {
			if _, given := row[c.Name]; given && values[c.Name] != nil {
				x := values[c.Name]
				each := x.Len() / x.Shape[0]
				features[c.Name] = exampleFeature(x, i*each, (i+1)*each)
			}
		}
		b, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: features}})
		if err != nil {
			t.Fatal(err)
		}
		out.Strings[i] = b
	}
	return out
}
