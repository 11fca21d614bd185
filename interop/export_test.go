package interop_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/tensor"
)

// servedCase is an exported model and the predictions that it must give.
type servedCase struct {
	Name  string `json:"name"`
	Model string `json:"model"`
	Feeds string `json:"feeds"`
	Want  string `json:"want"`
}

// TestExportsAreServed exports models with feature columns, recurrent models and
// image networks. Fed with tensors and with examples, TensorFlow's loaders give the
// estimator's predictions. GOESTIMATOR_ACCEPT=1 tests all of them.
func TestExportsAreServed(t *testing.T) {
	py := peers(t)
	all, recurrent := chosen(cannedCases()), chosen(rnnCases())
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		all, recurrent = all[:min(len(all), 1)], recurrent[:min(len(recurrent), 1)]
	}
	work := t.TempDir()
	var list []servedCase
	for _, c := range slices.Concat(all, recurrent, chosen(stepCases())) {
		list = append(list, exportCanned(t, filepath.Join(work, c.Name), c)...)
	}
	checkServed(t, py, work, list)
}

// exportCanned trains a canned model for a few steps and exports it with both serving inputs.
func exportCanned(t *testing.T, dir string, c cannedCase) []servedCase {
	t.Helper()
	c.Batch = 16
	r := exportableRun(c, rnnData(3*16))
	e := r.estimator(t, filepath.Join(dir, "model"))
	if _, err := e.Train(t.Context(), r.batches(), estimator.MaxSteps(3)); err != nil {
		t.Fatal(err)
	}
	want := save(t, filepath.Join(dir, "want"), predictions(t, e, r.batches()))
	feeds := rawFeeds(r.data)
	feeds["examples"] = examplesOf(t, r.data)
	feeds["inputs"] = feeds["examples"]
	given := save(t, filepath.Join(dir, "feeds"), feeds)
	columns, err := e.ServingColumns(t.Context(), r.batches())
	if err != nil {
		t.Fatal(err)
	}
	var out []servedCase
	for _, serving := range []estimator.ServingInput{estimator.RawServingInput(columns...), estimator.ParsingServingInput(columns...)} {
		model, err := e.ExportSavedModel(t.Context(), filepath.Join(dir, serving.String()), serving, estimator.ExportSequenceLength(8))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		out = append(out, servedCase{c.Name + "/" + serving.String(), model, given, want})
	}
	return out
}

// exportableRun is the case, with data that an exported model interprets in the same way.
func exportableRun(c cannedCase, d map[string]*tensor.Tensor) *cannedRun {
	c.Columns = slices.Clone(c.Columns)
	for i := range c.Columns {
		// In an example, a key crosses a number by its digits.
		if c.Columns[i].Type == "crossed" && len(c.Columns[i].Keys) == 3 {
			c.Columns[i].Keys = []feature.CrossPart{{Key: "job"}, {Column: "ages"}, {Column: "level"}}
		}
	}
	for i, s := range d["job"].Strings {
		if len(s) == 0 {
			d["job"].Strings[i] = []byte("none") // a cross treats an empty text as a value, unlike a missing text
		}
	}
	return &cannedRun{cannedCase: c, data: d}
}

// predictions returns the predictions for all examples, by name.
func predictions(t *testing.T, e *estimator.Estimator, in estimator.InputFn) map[string]*tensor.Tensor {
	t.Helper()
	rows := map[string][]*tensor.Tensor{}
	for p, err := range e.Predict(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Names() {
			rows[name] = append(rows[name], p.Get(name).Clone())
		}
	}
	out := map[string]*tensor.Tensor{}
	for name, list := range rows {
		x := tensor.New(list[0].DType, append([]int{len(list)}, list[0].Shape...)...)
		for i, row := range list {
			if x.DType == tensor.String {
				copy(x.Strings[i*row.Len():], row.Strings)
			} else {
				copy(x.Row(i).Bytes, row.Bytes)
			}
		}
		out[name] = x
	}
	return out
}

// rawFeeds are the features for a raw input; ragged ones are
// padded.
func rawFeeds(d map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	offsets := tensor.Values[int64](d["offsets"])
	out := map[string]*tensor.Tensor{}
	for name, x := range d {
		if name != "words" && name != "weights" {
			out[name] = x
			continue
		}
		n, longest := len(offsets)-1, 0
		for i := range n {
			longest = max(longest, int(offsets[i+1]-offsets[i]))
		}
		y := tensor.New(x.DType, n, longest)
		for i := range y.Strings {
			y.Strings[i] = []byte{}
		}
		for i := range n {
			for j := range longest {
				from := int(offsets[i]) + j
				switch {
				case x.DType == tensor.String && from < int(offsets[i+1]):
					y.Strings[i*longest+j] = x.Strings[from]
				case x.DType == tensor.Float32 && from < int(offsets[i+1]):
					tensor.Values[float32](y)[i*longest+j] = tensor.Values[float32](x)[from]
				case x.DType == tensor.Float32:
					tensor.Values[float32](y)[i*longest+j] = float32(math.NaN())
				}
			}
		}
		out[name] = y
	}
	return out
}

// examplesOf are the features as serialized tf.train.Examples.
func examplesOf(t *testing.T, d map[string]*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	offsets := tensor.Values[int64](d["offsets"])
	out := tensor.New(tensor.String, len(offsets)-1)
	for i := range out.Strings {
		features := map[string]*example_protos_go_proto.Feature{}
		for name, x := range d {
			if name == "offsets" {
				continue
			}
			lo, hi := i*x.Len()/x.Shape[0], (i+1)*x.Len()/x.Shape[0]
			if strings.HasPrefix(name, "w") || name == "label_steps" {
				lo, hi = int(offsets[i]), int(offsets[i+1])
			}
			features[name] = exampleFeature(x, lo, hi)
		}
		b, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: features}})
		if err != nil {
			t.Fatal(err)
		}
		out.Strings[i] = b
	}
	return out
}

func exampleFeature(x *tensor.Tensor, lo, hi int) *example_protos_go_proto.Feature {
	switch x.DType {
	case tensor.String:
		return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_BytesList{BytesList: &example_protos_go_proto.BytesList{Value: x.Strings[lo:hi]}}}
	case tensor.Float32:
		return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_FloatList{FloatList: &example_protos_go_proto.FloatList{Value: tensor.Values[float32](x)[lo:hi]}}}
	case tensor.Int64:
		return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_Int64List{Int64List: &example_protos_go_proto.Int64List{Value: tensor.Values[int64](x)[lo:hi]}}}
	}
	panic(fmt.Sprintf("no feature of type %v", x.DType))
}

// stepCases are further models to export, whose training is a step function.
func stepCases() []cannedCase {
	list := []cannedCase{
		{Name: "kmeans", model: "kmeans", Params: estimator.Params{"num_clusters": 3, "feature_columns": []string{"age", "pair"}}},
		{Name: "trees", model: "boosted_trees_classifier", Label: "label2", Params: estimator.Params{"feature_columns": []string{"age", "pair", "job_present"}, "n_batches_per_layer": 1, "max_depth": 3}},
	}
	for i := range list {
		list[i].Columns = cannedColumns
	}
	return list
}

// TestImageModelsAreServed exports networks with convolutions, pooling and batch
// normalisation, including the graphs of evaluation and training.
func TestImageModelsAreServed(t *testing.T) {
	py := peers(t)
	jobs := map[string]job{"mlp": small("adam", "")}
	if os.Getenv("GOESTIMATOR_ACCEPT") == "1" {
		jobs["cnn"] = job{network: "cnn", params: map[string]any{"filters": []any{4, 3}, "dense_units": 8, "batch_norm": true}, optimizer: "sgd"}
		jobs["resnet20"] = job{network: "resnet20", params: map[string]any{"blocks": 1, "width": 4}, optimizer: "sgd"}
	}
	work, d := t.TempDir(), glyphs(t, 24)
	var list []servedCase
	for name, j := range jobs {
		dir := filepath.Join(work, name)
		j.dir = filepath.Join(dir, "model")
		e := j.estimator(t)
		train(t, e, d, 8)
		columns, err := e.ServingColumns(t.Context(), d.batches(8))
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, inputs.Column{Name: "label", DType: tensor.Int64, Role: inputs.Label})
		images := exampleImages(t, d)
		feeds := save(t, filepath.Join(dir, "feeds"), map[string]*tensor.Tensor{"image": d.images, "examples": images, "inputs": images})
		want := save(t, filepath.Join(dir, "want"), predictions(t, e, d.batches(8)))
		for _, serving := range []estimator.ServingInput{estimator.RawServingInput(columns...), estimator.ParsingServingInput(columns...)} {
			model, err := e.ExportSavedModel(t.Context(), filepath.Join(dir, serving.String()), serving)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, servedCase{name + "/" + serving.String(), model, feeds, want})
		}
	}
	checkServed(t, py, work, list)
}

// exampleImages are images as serialized tf.train.Examples.
func exampleImages(t *testing.T, d data) *tensor.Tensor {
	t.Helper()
	n := d.images.Shape[0]
	out := tensor.New(tensor.String, n)
	for i := range out.Strings {
		pixels := make([]int64, d.images.Len()/n)
		for k := range pixels {
			pixels[k] = int64(d.images.Bytes[i*len(pixels)+k])
		}
		image := &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_Int64List{Int64List: &example_protos_go_proto.Int64List{Value: pixels}}}
		b, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: map[string]*example_protos_go_proto.Feature{"image": image}}})
		if err != nil {
			t.Fatal(err)
		}
		out.Strings[i] = b
	}
	return out
}

// checkServed loads and runs the models in TensorFlow.
func checkServed(t *testing.T, py python, work string, list []servedCase) {
	t.Helper()
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cases := filepath.Join(work, "cases.json")
	write(t, cases, text)
	py.run(t, "export_serve.py", cases)
}
