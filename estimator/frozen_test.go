package estimator_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// partlyFrozen freezes a table and running averages by their layers, and calls see with the
// trained variables.
func partlyFrozen(see func(trained []string)) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		x := features.Dense("x")
		mc.Frozen(func() {
			e := layers.Embedding(mc, features.Dense("id"), equalRows, equalWidth, layers.Weights{})
			x = layers.BatchNorm(mc, ops.Concat(mc, 1, x, layers.Flatten(mc, e)), layers.Norm{})
		})
		x = layers.Dense(mc, x, 8, layers.Weights{Activation: func(c models.Context, x *G.Node) *G.Node { return ops.Tanh(c, x) }})
		logits := layers.Dense(mc, x, 3, layers.Weights{})
		spec := &estimator.Spec{Predictions: estimator.Nodes{"logits": logits}}
		if mc.Mode() == models.Predict {
			return spec, mc.Err()
		}
		spec.Loss = losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})
		if mc.Mode() == models.Train {
			rule, err := optimizers.New("momentum", map[string]any{"learning_rate": 0.05})
			if err != nil {
				return nil, err
			}
			if spec.TrainOp = rule.Minimize(mc, spec.Loss); spec.TrainOp != nil && see != nil {
				var names []string
				for _, g := range spec.TrainOp.Groups {
					for _, v := range g.Variables {
						names = append(names, v.Name)
					}
				}
				see(names)
			}
		}
		return spec, mc.Err()
	})
}

// TestFrozenUnderEveryStrategy: frozen variables have no gradient and no slots, and do not change by a bit; the others do.
func TestFrozenUnderEveryStrategy(t *testing.T) {
	testkit.NotConcurrent(t)
	const frozenByName = "dense/"
	for _, st := range stepStrategies {
		t.Run(st.name, func(t *testing.T) {
			dir := t.TempDir()
			var trained []string
			for _, r := range trainCluster(t, dir, st.workers, st.servers, st.s, func(rank int, m *member) {
				m.fn, m.opts, m.est = partlyFrozen(nil), []estimator.TrainOption{estimator.MaxSteps(6)}, []estimator.Option{estimator.WithFrozen(frozenByName)}
				if rank == 0 {
					m.fn = partlyFrozen(func(names []string) { trained = names })
				}
			}) {
				if r.err != nil {
					t.Fatalf("%s: %v", r.task, r.err)
				}
			}
			if want := []string{"dense_1/kernel", "dense_1/bias"}; !slices.Equal(trained, want) {
				t.Errorf("gradients of %v, expected %v", trained, want)
			}
			first, last := openCheckpoint(t, dir, "model.ckpt-0"), openCheckpoint(t, dir, "model.ckpt-6")
			for _, name := range last.Names() {
				if strings.HasPrefix(name, "goestimator/") || name == "global_step" {
					continue
				}
				before, err := first.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
				after, err := last.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
				trains := strings.HasPrefix(name, "dense_1/")
				if changed := !bytes.Equal(before.Bytes, after.Bytes); changed != trains && name != "momentum" && name != "learning_rate" {
					t.Errorf("%s: changed %v, expected %v", name, changed, trains)
				}
				if strings.HasSuffix(name, "/Momentum") && !trains {
					t.Errorf("the frozen variable has a slot: %s", name)
				}
			}
		})
	}
}

func openCheckpoint(t *testing.T, dir, name string) *checkpoint.Reader {
	t.Helper()
	r, err := checkpoint.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestFrozenErrors(t *testing.T) {
	for want, c := range map[string]struct {
		fn       estimator.ModelFn
		patterns []string
	}{
		"expected a regular expression":          {estimator.ModelFunc(toyModel), []string{"("}},
		`"": expected a regular expression`:      {estimator.ModelFunc(toyModel), []string{""}},
		"no variable matches ^(?:embedding)":     {estimator.ModelFunc(toyModel), []string{"dense/bias", "embedding"}},
		"no trainable variable reaches the loss": {estimator.ModelFunc(toyModel), []string{"dense"}},
		"the model trains by a step function":    {meanModel(""), []string{"mean"}},
		"no variable matches ^(?:kernel)":        {estimator.ModelFunc(toyModel), []string{"kernel"}},
	} {
		e, err := estimator.New(c.fn, estimator.WithModelDir(t.TempDir()), estimator.WithFrozen(c.patterns...))
		if err == nil {
			_, err = e.Describe(t.Context(), models.Train, estimator.InputFunc(equalData))
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, expected %q", c.patterns, err, want)
		}
	}
}

// TestWarmStartOfFrozenLayers: a warm start gives frozen variables their values, and training does not change
// them.
func TestWarmStartOfFrozenLayers(t *testing.T) {
	from := toy(t, t.TempDir())
	if _, err := from.Train(t.Context(), forever(&toyData{}), estimator.Steps(20)); err != nil {
		t.Fatal(err)
	}
	want, err := from.VariableValue("dense/kernel")
	if err != nil {
		t.Fatal(err)
	}
	e := toy(t, t.TempDir(), estimator.WithWarmStart(estimator.WarmStart{From: from.ModelDir()}), estimator.WithFrozen("dense/kernel"))
	if _, err := e.Train(t.Context(), forever(&toyData{}), estimator.Steps(5)); err != nil {
		t.Fatal(err)
	}
	got, err := e.VariableValue("dense/kernel")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes, want.Bytes) {
		t.Errorf("the frozen kernel is %v, expected %v of the warm start", got, want)
	}
}
