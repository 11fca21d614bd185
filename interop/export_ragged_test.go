package interop_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// raggedNetwork reads ragged columns directly: one as indices into a table,
// weights as a sequence.
func raggedNetwork(c models.Context, f models.Features, outputs int) *G.Node {
	table := c.Core().Variable("table", []int{61, 3})
	x := ops.LookupSparse(c, table, f.Ragged("label_steps"), "sqrtn", 0)
	w := f.Ragged("weights")
	steps := ops.RaggedToDense(c, w, w.MaxLength())
	sum := ops.ExpandDims(c, ops.Sum(c, steps, ops.Axes(1)), 1)
	return layers.Dense(c, ops.Concat(c, 1, x, sum), outputs, layers.Weights{Name: "dense"})
}

// TestRaggedModelsAreServed exports a model_fn that reads ragged columns without
// feature columns, and one with a vocabulary file, which becomes an asset.
func TestRaggedModelsAreServed(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes long (GOESTIMATOR_ACCEPT=1, make parity)")
	}
	py, work := peers(t), t.TempDir()
	c := cannedCases()[4]
	c.Name = "vocabulary_file"
	file := filepath.Join(work, "jobs.txt")
	write(t, file, []byte("smith\nbaker\nclerk\n"))
	c.Columns = []feature.Spec{{Name: "job", Type: "vocabulary_file", Key: "job", File: file, OOVBuckets: 2}, {Name: "job_vector", Type: "embedding", Of: "job", Dimension: 4}}
	c.Params = estimator.Params{"feature_columns": []string{"job_vector"}, "hidden_units": []int{4}}
	list := exportCanned(t, filepath.Join(work, c.Name), c)
	if err := os.Remove(file); err != nil { // the exports must contain the words
		t.Fatal(err)
	}

	d := rnnData(40)
	opt, err := optimizers.New("sgd", map[string]any{"learning_rate": 0.1})
	if err != nil {
		t.Fatal(err)
	}
	head := heads.MultiClass(3)
	dir := filepath.Join(work, "ragged")
	e := job{dir: filepath.Join(dir, "model")}.estimatorOf(t, heads.ModelFn(raggedNetwork, head, opt))
	in := raggedSet(d)
	if _, err := e.Train(t.Context(), in, estimator.MaxSteps(3)); err != nil {
		t.Fatal(err)
	}
	columns, err := e.ServingColumns(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	feeds := rawFeeds(d)
	feeds["label_steps"] = filledUp(d["label_steps"], tensor.Values[int64](d["offsets"]))
	feeds["examples"] = examplesOf(t, d)
	feeds["inputs"] = feeds["examples"]
	given, want := save(t, filepath.Join(dir, "feeds"), feeds), save(t, filepath.Join(dir, "want"), predictions(t, e, in))
	for _, serving := range []estimator.ServingInput{estimator.RawServingInput(columns...), estimator.ParsingServingInput(columns...)} {
		model, err := e.ExportSavedModel(t.Context(), filepath.Join(dir, serving.String()), serving, estimator.ExportSequenceLength(8))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, servedCase{"ragged/" + serving.String(), model, given, want})
	}
	checkServed(t, py, work, list)
}

// filledUp is a ragged column of integers for a raw input, padded with -1.
func filledUp(x *tensor.Tensor, offsets []int64) *tensor.Tensor {
	n, longest := len(offsets)-1, 0
	for i := range n {
		longest = max(longest, int(offsets[i+1]-offsets[i]))
	}
	y := tensor.New(tensor.Int64, n, longest)
	for i := range n {
		for j := range longest {
			v := int64(-1)
			if at := int(offsets[i]) + j; at < int(offsets[i+1]) {
				v = tensor.Values[int64](x)[at]
			}
			tensor.Values[int64](y)[i*longest+j] = v
		}
	}
	return y
}

// raggedSet has two ragged columns and a label.
func raggedSet(d map[string]*tensor.Tensor) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		columns := []inputs.Column{{Name: "label_steps", DType: tensor.Int64, Ragged: true, Role: inputs.Feature}, {Name: "weights", DType: tensor.Float32, Ragged: true, Role: inputs.Feature}}
		if ic.Mode != inputs.Predict {
			columns = append(columns, inputs.Column{Name: "label3", DType: tensor.Int64, Role: inputs.Label})
		}
		s, err := inputs.NewSchema(columns...)
		if err != nil {
			return nil, err
		}
		arrays := make([]arrow.Array, len(columns))
		for i, c := range columns {
			arrays[i] = cannedArray(d[c.Name], c, d["offsets"])
		}
		ds, err := inputs.Records(s, []arrow.Record{array.NewRecord(s.Arrow(), arrays, int64(d["age"].Shape[0]))}, memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(16, false)), nil
	})
}
