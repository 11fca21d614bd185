package interop_test

import (
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// fineTuneFrozen are the kernels of all but the last blocks. Their normalizations still train, like Keras layers that are trainable.
const fineTuneFrozen = `(Conv1|expanded_conv_(depthwise|project)|block_\d_(expand|depthwise|project))/`

// fineTuneInference are all normalizations, which then use their moving averages, and everything except the last convolutions and the output.
const fineTuneInference = `(bn_Conv1|Conv_1_bn|\w+_BN|Conv1|expanded_conv_\w+|block_(\d|1[0-5])_\w+)/`

// TestFineTune: a MobileNetV2 saved by Keras continues training here, loaded from Keras' own files without rules. The losses of 50 steps are
// compared in float64; Keras' normalizations have an epsilon that ours round to float32.
func TestFineTune(t *testing.T) {
	py := peers(t)
	dir := t.TempDir()
	cases := []struct {
		name, file string
		frozen     []string
		rate       float64
		untrained  string // name of the losses without training, in the long form
	}{{"frozen", "model.h5", []string{fineTuneFrozen}, 5e-4, "untrained"}, {"all", "model.keras", nil, 1e-5, "untrained"},
		{"inference", "model.h5", []string{fineTuneInference}, 0.05, "still"}}
	args := []string{dir, "frozen"}
	if longForm() {
		args = []string{dir, "frozen", "all", "inference", "untrained", "still"}
	} else {
		cases = cases[:1]
	}
	py.run(t, "fine_tune.py", args...)
	given, want := archived(t, filepath.Join(dir, "data.npz")), archived(t, filepath.Join(dir, "losses.npz"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := job{network: "mobilenet_v2", params: map[string]any{"alpha": 0.35}, optimizer: "sgd", rule: map[string]any{"learning_rate": c.rate}}
			rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.SaveSummarySteps(0), runconfig.LogStepCountSteps(0),
				runconfig.Session(runconfig.SessionConfig{Precision: "float64"}))
			if err != nil {
				t.Fatal(err)
			}
			e, err := estimator.New(j.modelFn(t), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
				estimator.WithWarmStart(estimator.WarmStart{From: filepath.Join(dir, c.file)}), estimator.WithFrozen(c.frozen...))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			losses := train(t, e, data{given["images"], given["labels"]}, 8)
			within(t, "losses", losses, tensor.Values[float64](want[c.name]), 1e-4)
			if u := want[c.untrained]; u != nil && furthest(losses, tensor.Values[float64](u)) < 1e-2 {
				t.Error("training changes no loss by more than 0.01: the steps show nothing")
			}
		})
	}
}

// furthest returns the largest difference between two series.
func furthest(a, b []float64) (d float64) {
	for i := range a {
		d = max(d, math.Abs(a[i]-b[i]))
	}
	return d
}

// archived reads a NumPy archive.
func archived(t *testing.T, path string) map[string]*tensor.Tensor {
	t.Helper()
	f, err := weights.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]*tensor.Tensor{}
	for _, i := range f.List() {
		if out[i.Name], err = f.Tensor(i.Name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
