package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/distribute/inprocess"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// setup is a strategy and its cluster.
type setup struct {
	name             string
	strategy         runconfig.Strategy
	workers, servers int
}

// setups are the synchronous strategies: each step equals a step of one replica with the whole batch.
var setups = []setup{
	{"default", runconfig.Strategy{Name: "default"}, 1, 0},
	{"one_device", runconfig.Strategy{Name: "one_device", Device: "/cpu:0"}, 1, 0},
	{"mirrored", runconfig.Strategy{Name: "mirrored", Replicas: 3}, 1, 0},
	{"central_storage", runconfig.Strategy{Name: "central_storage", Replicas: 2}, 1, 0},
	{"multi_worker_mirrored alone", runconfig.Strategy{Name: "multi_worker_mirrored"}, 1, 0},
	{"multi_worker_mirrored 2", runconfig.Strategy{Name: "multi_worker_mirrored"}, 2, 0},
	{"multi_worker_mirrored 3", runconfig.Strategy{Name: "multi_worker_mirrored"}, 3, 0},
}

// inCluster runs a program in every task of a setup, and parameter servers.
func (c setup) inCluster(t *testing.T, dir string, program func(ctx context.Context, rc runconfig.RunConfig) error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	rpc := runconfig.RPC{Security: "auto", PeerTimeoutSecs: 10, RejoinSecs: 5, CallTimeoutSecs: 20, MaxMessageMB: 64}
	err := inprocess.Run(ctx, inprocess.Tasks{Chief: 1, Workers: c.workers - 1, PS: c.servers}, func(ctx context.Context, rc runconfig.RunConfig) error {
		if rc.TaskType() == runconfig.PS {
			return distribute.Serve(ctx, rc, quiet)
		}
		return program(ctx, rc)
	}, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(c.strategy), runconfig.Connections(rpc), runconfig.SessionCreationTimeoutSecs(30))
	if err != nil {
		t.Error(err)
	}
}

var quiet = distribute.WithLogger(slog.New(slog.DiscardHandler))

// trace is what a loop sees.
type trace struct {
	losses         []float64
	seen, accuracy float64
	variables      map[string]*tensor.Tensor
}

// run trains over the data once, evaluates, and saves.
func (y *toy) run(ctx context.Context) (tr trace, err error) {
	if _, err := y.Restore(ctx); err != nil {
		return tr, err
	}
	tr.losses, err = y.epoch(ctx)
	if err != nil {
		return tr, err
	}
	seen, err := y.seen.Result(ctx)
	if err != nil {
		return tr, err
	}
	tr.seen, _ = seen.Scalar()
	if tr.accuracy, err = y.evaluate(ctx); err != nil {
		return tr, err
	}
	tr.variables = map[string]*tensor.Tensor{}
	for _, name := range y.VariableNames() {
		if y.Name() == "parameter_server" && !isModels(name) {
			continue // only checkpoints have optimizer state
		}
		if tr.variables[name], err = y.Variable(name); err != nil {
			return tr, err
		}
	}
	_, err = y.Save(ctx)
	return tr, err
}

// isModels reports whether a variable is the model's, or the global step.
func isModels(name string) bool {
	return strings.HasSuffix(name, "kernel") || strings.HasSuffix(name, "bias") || strings.HasSuffix(name, "embeddings") || name == "global_step"
}

// epoch trains until the data ends.
func (y *toy) epoch(ctx context.Context) (losses []float64, err error) {
	it, err := y.data.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for {
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return losses, nil
		}
		if err != nil {
			return losses, err
		}
		res, err := y.train.Run(ctx, batch)
		if err != nil {
			return losses, err
		}
		if res.Applied() {
			losses = append(losses, res.Loss())
		}
	}
}

// evaluate returns the accuracy over all data.
func (y *toy) evaluate(ctx context.Context) (float64, error) {
	it, err := y.evaluated.Iterate(ctx)
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if err := y.accuracy.Reset(ctx); err != nil {
		return 0, err
	}
	for {
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			_, err = y.eval.Run(ctx, batch)
		}
		if err != nil {
			return 0, err
		}
	}
	v, err := y.accuracy.Result(ctx)
	x, _ := v.Scalar()
	return x, err
}

// trained runs the loop in all tasks and returns what the chief saw, which must be what the others saw.
func (c setup) trained(t *testing.T, dir string, o func() *optimizers.Optimizer, rows int) trace {
	t.Helper()
	return c.trainedWith(t, dir, o, rows, func(int) distribute.Option { return quiet })
}

// trainedWith is trained with an option of each worker.
func (c setup) trainedWith(t *testing.T, dir string, o func() *optimizers.Optimizer, rows int, option func(rank int) distribute.Option) trace {
	t.Helper()
	var mu sync.Mutex
	var all []trace
	c.inCluster(t, dir, func(ctx context.Context, rc runconfig.RunConfig) error {
		s, err := distribute.New(rc, quiet, option(rc.WorkerRank()))
		if err != nil {
			return err
		}
		y, err := newToy(s, t, rows, o())
		var tr trace
		if err == nil {
			tr, err = y.run(ctx)
		}
		mu.Lock()
		all = append(all, tr)
		mu.Unlock()
		return errors.Join(err, s.Close(ctx))
	})
	for _, tr := range all[1:] {
		compareTraces(t, all[0], tr, 0)
	}
	return all[0]
}

func compareTraces(t *testing.T, want, got trace, tolerance float64) {
	t.Helper()
	if len(want.losses) != len(got.losses) || len(want.variables) != len(got.variables) {
		t.Fatalf("%d losses and %d variables, expected %d and %d", len(got.losses), len(got.variables), len(want.losses), len(want.variables))
	}
	near := func(what string, want, got float64) {
		if d := math.Abs(want - got); !(d <= tolerance*max(math.Abs(want), 1)) {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	for i := range want.losses {
		near(fmt.Sprintf("loss of step %d", i+1), want.losses[i], got.losses[i])
	}
	near("metric of training", want.seen, got.seen)
	near("accuracy", want.accuracy, got.accuracy)
	for name, w := range want.variables {
		g := got.variables[name]
		for i := range w.Len() {
			if d := math.Abs(w.Float(i) - g.Float(i)); !(d <= tolerance) {
				t.Errorf("variable %s[%d]: %v, expected %v", name, i, g.Float(i), w.Float(i))
				break
			}
		}
	}
}

func adam() *optimizers.Optimizer { return optimizers.Adam(0.02) }

// TestReplicasEqualOne: a loop has the same results under every synchronous strategy, including metrics.
func TestReplicasEqualOne(t *testing.T) {
	want := setups[0].trained(t, t.TempDir(), adam, toyBatch*toyBatches)
	if len(want.losses) != toyBatches || want.losses[toyBatches-1] >= want.losses[0] || want.seen == 0 {
		t.Fatalf("losses %v, metric %v: expected to learn in %d steps", want.losses, want.seen, toyBatches)
	}
	for _, c := range setups[1:] {
		t.Run(c.name, func(t *testing.T) {
			compareTraces(t, want, c.trained(t, t.TempDir(), adam, toyBatch*toyBatches), 1e-5)
		})
	}
}

// TestOneAsynchronousWorkerEqualsOne: without other workers, an asynchronous worker makes
// the same steps as one process, and evaluates the same.
func TestOneAsynchronousWorkerEqualsOne(t *testing.T) {
	want := setups[0].trained(t, t.TempDir(), adam, toyBatch*toyBatches)
	for name := range want.variables {
		if !isModels(name) {
			delete(want.variables, name)
		}
	}
	c := setup{"parameter_server", runconfig.Strategy{Name: "parameter_server"}, 1, 2}
	compareTraces(t, want, c.trained(t, t.TempDir(), adam, toyBatch*toyBatches), 1e-5)
}
