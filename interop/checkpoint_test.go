package interop_test

import (
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// TensorFlow reads every variable, slot and step in a trained model's checkpoint,
// bit for bit, and computes the same logits from them.
func TestTensorFlowReadsCheckpoints(t *testing.T) {
	py := peers(t)
	d := glyphs(t, 640)
	for _, rule := range []string{"adam", "momentum"} {
		t.Run(rule, func(t *testing.T) {
			j := small(rule, filepath.Join(t.TempDir(), "model"))
			e := j.estimator(t)
			train(t, e, d, 32)
			prefix, err := e.LatestCheckpoint()
			if err != nil {
				t.Fatal(err)
			}
			want := save(t, filepath.Join(t.TempDir(), "want"), stored(t, prefix))
			py.run(t, "read_checkpoint.py", j.dir, want)
			given := d.tensors()
			given["logits"] = logits(t, e, d)
			py.run(t, "restore_mlp.py", j.dir, save(t, filepath.Join(t.TempDir(), "given"), given))
		})
	}
}

// Checkpoints by TensorFlow's Saver, including partitioned variables and strings, read
// back bit for bit.
func TestReadsTensorFlowCheckpoints(t *testing.T) {
	py := peers(t)
	dir := t.TempDir()
	py.run(t, "write_checkpoint.py", filepath.Join(dir, "model"), filepath.Join(dir, "want"))
	prefix, err := checkpoint.LatestPrefix(filepath.Join(dir, "model"))
	if err != nil {
		t.Fatal(err)
	}
	got, want := stored(t, prefix), load(t, filepath.Join(dir, "want"))
	for name, w := range want {
		equal(t, name, got[name], w)
	}
	if len(got) != len(want) {
		t.Errorf("%d tensors, TensorFlow wrote %d", len(got), len(want))
	}
}

// A model that TensorFlow trained and saved continues training here like there,
// with its optimizer's slots, and warm-starts another model.
func TestContinuesTensorFlowTraining(t *testing.T) {
	py := peers(t)
	d := glyphs(t, 640)
	for _, rule := range []string{"adam", "momentum"} {
		t.Run(rule, func(t *testing.T) {
			dir := t.TempDir()
			j := small(rule, filepath.Join(dir, "model"))
			py.run(t, "train_mlp.py", rule, save(t, filepath.Join(dir, "data"), d.tensors()), j.dir, filepath.Join(dir, "want"))
			want := load(t, filepath.Join(dir, "want"))

			warm := small(rule, filepath.Join(dir, "warm"))
			warm.warmStart = j.dir
			first := train(t, warm.estimator(t), d.head(32), 32)
			within(t, "loss after a warm start", first, tensor.Values[float64](want["losses"])[:1], 1e-5)

			e := j.estimator(t)
			closeTo(t, "logits", logits(t, e, d), want["logits"], 1e-5)
			within(t, "losses", train(t, e, d, 32), tensor.Values[float64](want["losses"]), 1e-4)
			step, err := e.VariableValue(checkpoint.GlobalStep)
			if err != nil || tensor.Values[int64](step)[0] != 40 {
				t.Errorf("global_step %v, %v: want 40", step, err)
			}
		})
	}
}
