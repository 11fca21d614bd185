package interop_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/tensor"
)

// TestEnsemblesAreServed: TensorFlow's loaders give the mean predictions of three models, and the class with the greatest mean
// probability, whether fed with tensors or with examples. GOESTIMATOR_ACCEPT=1 tests all canned models.
func TestEnsemblesAreServed(t *testing.T) {
	py := peers(t)
	cases := slices.Concat(chosen(cannedCases()), chosen(stepCases()[1:]))
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		cases = slices.DeleteFunc(cases, func(c cannedCase) bool { return c.Label != "label_word" && c.model != "linear_regressor" })
	}
	work := t.TempDir()
	var list []servedCase
	for _, c := range cases {
		list = append(list, exportEnsemble(t, filepath.Join(work, c.Name), c)...)
	}
	checkServed(t, py, work, list)
}

// exportEnsemble trains a canned model for different numbers of steps, and exports these as one model, with both serving inputs.
func exportEnsemble(t *testing.T, dir string, c cannedCase) []servedCase {
	t.Helper()
	c.Batch = 16
	r := exportableRun(c, rnnData(3*16))
	var models []*estimator.Estimator
	var each []map[string]*tensor.Tensor
	for k, steps := range []int64{2, 3, 1} {
		e := r.estimator(t, filepath.Join(dir, "model", string(rune('a'+k))))
		if _, err := e.Train(t.Context(), r.batches(), estimator.MaxSteps(steps)); err != nil {
			t.Fatal(err)
		}
		models, each = append(models, e), append(each, predictions(t, e, r.batches()))
	}
	want := save(t, filepath.Join(dir, "want"), meanPredictions(each))
	feeds := rawFeeds(r.data)
	feeds["examples"] = examplesOf(t, r.data)
	feeds["inputs"] = feeds["examples"]
	given := save(t, filepath.Join(dir, "feeds"), feeds)
	columns, err := models[0].ServingColumns(t.Context(), r.batches())
	if err != nil {
		t.Fatal(err)
	}
	var out []servedCase
	for _, serving := range []estimator.ServingInput{estimator.RawServingInput(columns...), estimator.ParsingServingInput(columns...)} {
		model, err := estimator.ExportEnsemble(t.Context(), models, filepath.Join(dir, serving.String()), serving)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		out = append(out, servedCase{c.Name + "/" + serving.String(), model, given, want})
	}
	return out
}

// meanPredictions are the means of the models' predictions, and the classes derived from them.
func meanPredictions(each []map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	out := map[string]*tensor.Tensor{}
	for name, x := range each[0] {
		mean := x.Clone()
		if x.DType == tensor.Float32 {
			for i := range mean.Len() {
				sum := 0.0
				for _, p := range each {
					sum += float64(tensor.Values[float32](p[name])[i])
				}
				tensor.Values[float32](mean)[i] = float32(sum / float64(len(each)))
			}
		}
		out[name] = mean
	}
	ids := out["class_ids"]
	if ids == nil {
		return out
	}
	p := tensor.Values[float32](out["probabilities"])
	for row := range ids.Len() {
		classes := len(p) / ids.Len()
		best := 0
		for k, v := range p[row*classes : (row+1)*classes] {
			if v > p[row*classes+best] {
				best = k
			}
		}
		tensor.Values[int64](ids)[row] = int64(best)
		out["classes"].Strings[row] = out["all_classes"].Strings[row*classes+best]
	}
	return out
}
