package estimator_test

import (
	"bytes"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// largeModel has a kernel and a table that the default partitioner cuts.
func largeModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	table := layers.Embedding(mc, features.Dense("id"), 20_000, 4, layers.Weights{})
	x := layers.Dense(mc, features.Dense("x"), 16_384, layers.Weights{Activation: ops.Tanh})
	logits := layers.Dense(mc, ops.Concat(mc, 1, x, layers.Flatten(mc, table)), 3, layers.Weights{})
	spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})}
	if mc.Mode() == models.Train {
		o := optimizers.Momentum(0.05)
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// TestPartitionersRestoreEachOther: training continues under another partitioner,
// partitioned or whole, as if it had not stopped. It has a kernel, a table, and
// their slots.
func TestPartitionersRestoreEachOther(t *testing.T) {
	testkit.NotConcurrent(t)
	strategy := func(kind string) runconfig.Strategy {
		return runconfig.Strategy{Name: "parameter_server", Sync: true, Partitioner: runconfig.Partitioner{Kind: kind}}
	}
	train := func(dir, kind string, last int64) map[string]checkpoint.Info {
		t.Helper()
		for _, r := range trainCluster(t, dir, 2, 2, strategy(kind), func(_ int, m *member) {
			m.fn, m.opts = estimator.ModelFunc(largeModel), []estimator.TrainOption{estimator.MaxSteps(last)}
		}) {
			if r.err != nil {
				t.Fatalf("%s to step %d: %s: %v", kind, last, r.task, r.err)
			}
		}
		return infosOf(t, dir)
	}
	whole := t.TempDir()
	train(whole, "none", 6)
	want := tensorsOf(t, whole)
	for _, kinds := range [][2]string{{"none", ""}, {"", "none"}, {"", ""}} {
		dir := t.TempDir()
		for i, kind := range kinds {
			infos := train(dir, kind, int64(3*(i+1)))
			for _, name := range []string{"dense/kernel", "dense/kernel/Momentum", "embedding/embeddings", "embedding/embeddings/Momentum"} {
				if n, cut := len(infos[name].Slices), kind == ""; (n == 2) != cut || (n == 0) == cut {
					t.Errorf("partitioner %q: %s has %d slices", kind, name, n)
				}
			}
			if n := len(infos["dense/bias"].Slices); n != 0 {
				t.Errorf("partitioner %q: a small variable has %d slices", kind, n)
			}
		}
		got := tensorsOf(t, dir)
		for name, v := range want {
			if g := got[name]; g == nil || !bytes.Equal(g.Bytes, v.Bytes) {
				t.Errorf("partitioner %q, then %q: %s is not that of an undisturbed training", kinds[0], kinds[1], name)
			}
		}
	}
}

// infosOf lists the tensors of the newest checkpoint.
func infosOf(t *testing.T, dir string) map[string]checkpoint.Info {
	t.Helper()
	r, err := checkpoint.OpenLatest(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := map[string]checkpoint.Info{}
	for _, x := range r.List() {
		out[x.Name] = x
	}
	return out
}

// tensorsOf reads the numbers of the newest checkpoint.
func tensorsOf(t *testing.T, dir string) map[string]*tensor.Tensor {
	t.Helper()
	r, err := checkpoint.OpenLatest(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := map[string]*tensor.Tensor{}
	for _, x := range r.List() {
		if x.DType == tensor.String {
			continue
		}
		if out[x.Name], err = r.Tensor(x.Name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
