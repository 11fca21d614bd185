package interop_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/tensor"
)

// onnxCases are canned models whose columns can be written as ONNX.
func onnxCases() []cannedCase {
	list := []cannedCase{
		{Name: "dnn", model: "dnn_classifier", Label: "label3", Params: estimator.Params{"n_classes": 3, "hidden_units": []int{8, 4}, "batch_norm": true,
			"feature_columns": []string{"age", "pair", "ages", "level_vector"}}},
		{Name: "linear", model: "linear_regressor", Label: "label_number", Params: estimator.Params{"feature_columns": []string{"age", "ages", "level"}}},
		{Name: "kmeans", model: "kmeans", Params: estimator.Params{"num_clusters": 3, "feature_columns": []string{"age", "pair"}}},
		{Name: "trees", model: "boosted_trees_classifier", Label: "label2", Params: estimator.Params{"feature_columns": []string{"age", "pair"}, "max_depth": 3}},
	}
	for i := range list {
		list[i].Columns = cannedColumns
	}
	return list
}

// TestONNXModelsRun exports networks and canned models as ONNX: ONNX's checker
// accepts them, and ONNX Runtime gives the estimator's predictions, for the batch and for a single example.
func TestONNXModelsRun(t *testing.T) {
	py := peers(t)
	work, d := t.TempDir(), glyphs(t, 24)
	var list []servedCase
	add := func(name string, e *estimator.Estimator, in estimator.InputFn, feeds map[string]*tensor.Tensor) {
		dir := filepath.Join(work, name)
		columns, err := e.ServingColumns(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		model, err := e.ExportONNX(t.Context(), dir, estimator.RawServingInput(columns...))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, servedCase{name, model, save(t, filepath.Join(dir, "feeds"), feeds), save(t, filepath.Join(dir, "want"), predictions(t, e, in))})
	}
	for name, j := range map[string]job{
		"mlp":      small("adam", ""),
		"cnn":      {network: "cnn", params: map[string]any{"filters": []any{4, 3}, "dense_units": 8, "batch_norm": true}, optimizer: "sgd"},
		"resnet20": {network: "resnet20", params: map[string]any{"blocks": 1, "width": 4}, optimizer: "sgd"},
	} {
		j.dir = filepath.Join(work, name, "model")
		e := j.estimator(t)
		train(t, e, d, 8)
		add(name, e, d.batches(8), map[string]*tensor.Tensor{"image": d.images})
	}
	for _, c := range onnxCases() {
		c.Batch, c.Columns = 16, slices.Clone(c.Columns)
		r := &cannedRun{cannedCase: c, data: rnnData(3 * 16)}
		e := r.estimator(t, filepath.Join(work, c.Name, "model"))
		if _, err := e.Train(t.Context(), r.batches(), estimator.MaxSteps(3)); err != nil {
			t.Fatal(err)
		}
		add(c.Name, e, r.batches(), rawFeeds(r.data))
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cases := filepath.Join(work, "cases.json")
	write(t, cases, text)
	py.run(t, "onnx_run.py", cases)
}

// TestONNXRefuses: hashes and vocabularies cannot be written as ONNX; the error names each op.
func TestONNXRefuses(t *testing.T) {
	c := cannedCase{Name: "words", model: "linear_classifier", Label: "label2", Batch: 16, Columns: slices.Clone(cannedColumns),
		Params: estimator.Params{"feature_columns": []string{"job", "city", "age"}}}
	r := &cannedRun{cannedCase: c, data: rnnData(16)}
	e := r.estimator(t, t.TempDir())
	if _, err := e.Train(t.Context(), r.batches(), estimator.MaxSteps(1)); err != nil {
		t.Fatal(err)
	}
	_, err := e.ExportONNX(t.Context(), t.TempDir(), estimator.RawServingInput())
	for _, op := range []string{"HashTableV2", "LookupTableFindV2", "StringToHashBucketFast"} {
		if err == nil || !strings.Contains(err.Error(), op) {
			t.Errorf("got %v, expected an error that names %s", err, op)
		}
	}
}
