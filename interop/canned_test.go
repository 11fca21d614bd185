package interop_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// Compare every canned model with tf.estimator's. From the same initial values and
// batches, the losses of 200 steps agree to 1e-3; predictions from the
// same checkpoint, written by either, agree to 1e-5; each side continues training from the
// other's checkpoint. Metrics and names of summaries also agree.
func TestCannedAgainstTensorFlow(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes minutes (GOESTIMATOR_ACCEPT=1, make parity)")
	}
	sideBySide(t, "canned.py", cannedCases(), cannedData((cannedSteps+cannedMore)*cannedBatch))
}

// sideBySide trains the chosen cases on both sides, and continues each from the other's
// checkpoint. script runs the other side.
func sideBySide(t *testing.T, script string, all []cannedCase, d map[string]*tensor.Tensor) {
	cases := chosen(all)
	if len(cases) == 0 {
		t.Skipf("skipped: no name of a case holds CANNED=%s", os.Getenv("CANNED"))
	}
	py := peers(t)
	work := t.TempDir()
	given, list := save(t, filepath.Join(work, "data"), d), filepath.Join(work, "cases.json")
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	write(t, list, text)
	theirs, ours := filepath.Join(work, "theirs"), filepath.Join(work, "ours")
	py.run(t, script, "train", list, given, theirs)
	answers := map[string]*cannedRun{}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r := &cannedRun{cannedCase: c, data: d}
			r.fromTheirs(t, filepath.Join(theirs, c.Name), filepath.Join(ours, c.Name))
			answers[c.Name] = r
		})
	}
	if t.Failed() {
		return
	}
	py.run(t, script, "resume", list, given, ours)
	for _, c := range cases {
		t.Run(c.Name+"/taken_over", func(t *testing.T) {
			answers[c.Name].checkAnswers(t, filepath.Join(ours, c.Name, "answers"))
		})
	}
}

// chosen are the cases whose names contain $CANNED; all if it is not set.
func chosen(list []cannedCase) []cannedCase {
	return slices.DeleteFunc(list, func(c cannedCase) bool { return !strings.Contains(c.Name, os.Getenv("CANNED")) })
}

// cannedRun is one case on our side.
type cannedRun struct {
	cannedCase
	data map[string]*tensor.Tensor

	predictions *tensor.Tensor // from our checkpoint
	metrics     map[string]float64
	losses      []float64 // of the steps after our checkpoint
}

// fromTheirs trains from the other side's initial checkpoint, and compares
// with the results of the other side.
func (r *cannedRun) fromTheirs(t *testing.T, theirs, dir string) {
	copyCheckpoint(t, theirs, dir, "model.ckpt-0")
	e := r.estimator(t, dir)
	h := &lossHook{}
	if _, err := e.Train(t.Context(), r.batches(), estimator.MaxSteps(int64(r.Steps)), estimator.WithHooks(h)); err != nil {
		t.Fatal(err)
	}
	answers := load(t, filepath.Join(theirs, "answers"))
	within(t, "losses", h.losses, tensor.Values[float64](answers["losses"]), 1e-3)
	trained := filepath.Join(theirs, "model.ckpt-200")
	closeTo(t, "predictions of their checkpoint", r.predict(t, e, estimator.CheckpointPath(trained)), answers["predictions"], 1e-5)
	r.checkMetrics(t, answers, r.evaluate(t, e, estimator.CheckpointPath(trained)))
	r.checkTags(t, theirs, dir)
	checkVariables(t, stored(t, filepath.Join(dir, "model.ckpt-200")), stored(t, trained))

	// What the other side must compute from our checkpoint.
	r.predictions, r.metrics = r.predict(t, e), r.evaluate(t, e)
	keep := filepath.Join(dir+"_on", "x")
	copyCheckpoint(t, dir, filepath.Dir(keep), "model.ckpt-200")
	h = &lossHook{}
	if _, err := r.estimator(t, filepath.Dir(keep)).Train(t.Context(), r.batches(), estimator.Steps(int64(r.More)), estimator.WithHooks(h)); err != nil {
		t.Fatal(err)
	}
	r.losses = h.losses
}

// checkAnswers compares our results with what the other side computed from our checkpoint.
func (r *cannedRun) checkAnswers(t *testing.T, dir string) {
	answers := load(t, dir)
	closeTo(t, "their predictions of our checkpoint", answers["predictions"], r.predictions, 1e-5)
	within(t, "their losses from our checkpoint", tensor.Values[float64](answers["losses"]), r.losses, 1e-3)
	r.checkMetrics(t, answers, r.metrics)
}

func (r *cannedRun) checkMetrics(t *testing.T, answers map[string]*tensor.Tensor, got map[string]float64) {
	t.Helper()
	for i, name := range answers["metrics"].Strings {
		want := tensor.Values[float64](answers["values"])[i]
		x, ok := got[string(name)]
		if !ok || !testkit.Near(x, want, 2e-5*max(1, math.Abs(want))) {
			t.Errorf("metric %s: expected %v, got %v", name, want, x)
		}
	}
}

// checkTags compares the names of the summaries.
func (r *cannedRun) checkTags(t *testing.T, theirs, ours string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(theirs, "tags"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(ours, "events.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no events in %s: %v", ours, err)
	}
	have := map[string]bool{}
	for _, f := range files {
		for e, err := range summary.ReadFile(f) {
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range e.GetSummary().GetValue() {
				have[v.Tag] = true
			}
		}
	}
	for tag := range strings.Lines(string(text)) {
		if tag = strings.TrimSpace(tag); !have[tag] && tag != "global_step/sec" {
			t.Errorf("no summary %s: got %v", tag, have)
		}
	}
}

// checkVariables compares variables and optimizer state after the same steps.
// Ours also has goestimator/ variables, and a count of updates where
// tf.estimator uses the global step.
func checkVariables(t *testing.T, ours, theirs map[string]*tensor.Tensor) {
	t.Helper()
	for name, want := range theirs {
		got := ours[name]
		switch {
		case got == nil:
			t.Errorf("no variable %s: ours has %v", name, slices.Sorted(maps.Keys(ours)))
			continue
		case got.DType != want.DType || !slices.Equal(got.Shape, want.Shape):
			t.Errorf("variable %s: expected %v%v, got %v%v", name, want.DType, want.Shape, got.DType, got.Shape)
			continue
		}
		size, worst := 1e-3, 0.0
		for i := range want.Len() {
			size = max(size, math.Abs(want.Float(i)))
			worst = max(worst, math.Abs(got.Float(i)-want.Float(i)))
		}
		if worst > 5e-3*size {
			t.Errorf("variable %s after training: differs by %v, largest value %v", name, worst, size)
		}
	}
	for name := range ours {
		if theirs[name] == nil && !strings.HasPrefix(name, "goestimator/") && !strings.HasSuffix(name, "/iter") {
			t.Errorf("our variable %s is none of theirs", name)
		}
	}
}

func (r *cannedRun) estimator(t *testing.T, dir string) *estimator.Estimator {
	t.Helper()
	set, err := feature.Build(r.Columns)
	if err != nil {
		t.Fatal(err)
	}
	fn, err := canned.Named(r.model, r.Params, set)
	if err != nil {
		t.Fatal(err)
	}
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(7), runconfig.SaveSummarySteps(50), runconfig.LogStepCountSteps(50))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(fn, estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// few is the number of batches for prediction and evaluation.
const few = 20

func (r *cannedRun) predict(t *testing.T, e *estimator.Estimator, opts ...estimator.PredictOption) *tensor.Tensor {
	t.Helper()
	var rows []*tensor.Tensor
	for p, err := range e.Predict(t.Context(), r.batches(few), opts...) {
		if err != nil {
			t.Fatal(err)
		}
		x := p.Get("logits")
		if x == nil {
			x = p.Get("predictions")
		}
		rows = append(rows, x.Clone())
	}
	out := tensor.New(tensor.Float32, append([]int{len(rows)}, rows[0].Shape...)...)
	for i, x := range rows {
		copy(out.Row(i).Bytes, x.Bytes)
	}
	return out
}

func (r *cannedRun) evaluate(t *testing.T, e *estimator.Estimator, opts ...estimator.EvalOption) map[string]float64 {
	t.Helper()
	result, err := e.Evaluate(t.Context(), r.batches(few), opts...)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{"global_step": float64(result.GlobalStep)}
	for name := range result.Metrics {
		out[name], _ = result.Scalar(name)
	}
	return out
}

// batches yields the data in order: the first batches up to a limit, or all.
func (r *cannedRun) batches(limit ...int) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := cannedSet(r.data, r.Label, ic.Mode == inputs.Predict)
		if err != nil {
			return nil, err
		}
		steps := []inputs.Transform{inputs.Batch(r.Batch, false)}
		if len(limit) > 0 {
			steps = []inputs.Transform{inputs.Take(int64(limit[0] * r.Batch)), steps[0]}
		}
		return inputs.Pipe(ds, steps...), nil
	})
}

// cannedSet is the data as one record, with the given label or none.
func cannedSet(d map[string]*tensor.Tensor, label string, unlabelled bool) (inputs.Dataset, error) {
	n := d["age"].Shape[0]
	var columns []inputs.Column
	var arrays []arrow.Array
	for _, name := range slices.Sorted(maps.Keys(d)) {
		x := d[name]
		c := inputs.Column{Name: name, DType: x.DType, Shape: x.Shape[1:], Role: inputs.Feature}
		switch {
		case name == "offsets", strings.HasPrefix(name, "label") && (name != label || unlabelled):
			continue
		case name == label:
			c.Role, c.Ragged = inputs.Label, name == "label_steps"
		case name == "words" || name == "weights":
			c.Ragged = true
		}
		columns = append(columns, c)
		arrays = append(arrays, cannedArray(x, c, d["offsets"]))
	}
	s, err := inputs.NewSchema(columns...)
	if err != nil {
		return nil, err
	}
	rec := array.NewRecord(s.Arrow(), arrays, int64(n))
	return inputs.Records(s, []arrow.Record{rec}, memory.DefaultAllocator)
}

// cannedArray converts a column to Arrow.
func cannedArray(x *tensor.Tensor, c inputs.Column, offsets *tensor.Tensor) arrow.Array {
	values := arrowValues(x)
	switch {
	case c.Ragged:
		to := make([]int32, len(tensor.Values[int64](offsets)))
		for i, o := range tensor.Values[int64](offsets) {
			to[i] = int32(o)
		}
		data := array.NewData(arrow.ListOf(values.DataType()), len(to)-1, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(to))},
			[]arrow.ArrayData{values.Data()}, 0, 0)
		return array.MakeFromData(data)
	case len(c.Shape) > 0:
		data := array.NewData(arrow.FixedSizeListOf(int32(c.Size()), values.DataType()), x.Shape[0], []*memory.Buffer{nil}, []arrow.ArrayData{values.Data()}, 0, 0)
		return array.MakeFromData(data)
	}
	return values
}

func arrowValues(x *tensor.Tensor) arrow.Array {
	switch x.DType {
	case tensor.String:
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		for _, s := range x.Strings {
			b.Append(s)
		}
		return b.NewArray()
	case tensor.Int64:
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues(tensor.Values[int64](x), nil)
		return b.NewArray()
	}
	b := array.NewFloat32Builder(memory.DefaultAllocator)
	b.AppendValues(tensor.Values[float32](x), nil)
	return b.NewArray()
}

// copyCheckpoint makes a model_dir with one checkpoint of another one.
func copyCheckpoint(t *testing.T, from, to, name string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(from, name+".*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("checkpoint %s in %s: %d files, %v", name, from, len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, filepath.Base(f)), b)
	}
	write(t, filepath.Join(to, "checkpoint"), []byte("model_checkpoint_path: \""+name+"\"\nall_model_checkpoint_paths: \""+name+"\"\n"))
}
