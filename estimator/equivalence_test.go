package estimator_test

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

const (
	equalSteps = 100
	equalBatch = 24 // rows of all workers' batches
	equalRows  = 60 // of the embedding
	equalWidth = 20 // of its rows; as the table is large, parameter servers get its gradients by rows
)

// equalData is the same sequence of rows for any number of workers: the k-th
// batches of all pipelines together are rows 24·k to 24·k+23.
func equalData(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	share := equalBatch / max(ic.NumPipelines, 1)
	var x []float32
	var id []int64
	var y []int32
	for step := range equalSteps {
		for row := range share {
			n := uint32(step*equalBatch + ic.Pipeline*share + row)
			h := n * 2654435761
			for j := range uint32(6) {
				x = append(x, float32((h>>(j*3))%97)/97-0.5)
			}
			id = append(id, int64(h>>8%equalRows), int64(n%7)) // some ids come twice in a batch, some in none
			label := int32(h >> 8 % equalRows % 3)
			x[len(x)-1] += float32(label)
			y = append(y, label)
		}
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 6), inputs.Slice("id", inputs.Feature, id, 2), inputs.Slice("y", inputs.Label, y))
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Batch(equalBatch/max(ic.ReplicasInSync, 1), false)), nil
}

// equalModel is a small network, optionally with an embedding.
func equalModel(rule optimizers.Rule, rate float64, embedding bool) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		x := features.Dense("x")
		if embedding {
			e := layers.Embedding(mc, features.Dense("id"), equalRows, equalWidth, layers.Weights{})
			x = ops.Concat(mc, 1, x, layers.Flatten(mc, e))
		}
		x = layers.Dense(mc, x, 16, layers.Weights{Activation: func(c models.Context, x *G.Node) *G.Node { return ops.Tanh(c, x) }})
		logits := layers.Dense(mc, x, 3, layers.Weights{})
		spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})}
		if mc.Mode() == models.Train {
			o := optimizers.Optimizer{Rule: rule, LearningRate: optimizers.Constant(rate)}
			spec.TrainOp = o.Minimize(mc, spec.Loss)
		}
		return spec, nil
	})
}

// lossRecorder sums the losses of all workers by step.
type lossRecorder struct {
	hooks.Base
	mu     *sync.Mutex
	losses map[int64][]float64
}

func (r *lossRecorder) Begin(s hooks.Setup) error { return s.Fetch("loss") }

func (r *lossRecorder) AfterRun(_ context.Context, run hooks.Run) error {
	v, err := run.Value("loss")
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses[run.GlobalStep()] = append(r.losses[run.GlobalStep()], v.Float(0))
	return nil
}

// equalJob is what equalRun trains.
type equalJob struct {
	fn               estimator.ModelFn
	data             estimator.InputFunc
	strategy         runconfig.Strategy
	workers, servers int
	options          []estimator.Option // of each Estimator
	hard             bool               // ops that are placed on a device do not run on the host
}

// equalRun is train for equalSteps steps. It returns the mean losses by step.
func equalRun(t *testing.T, j equalJob) []float64 {
	t.Helper()
	record := &lossRecorder{mu: new(sync.Mutex), losses: map[int64][]float64{}}
	j.train(t, equalSteps, record)
	out := make([]float64, equalSteps)
	for i := range out {
		each := record.losses[int64(i+1)]
		if len(each) != j.workers {
			t.Fatalf("step %d: losses of %d workers, expected %d", i+1, len(each), j.workers)
		}
		for _, x := range each {
			out[i] += x / float64(j.workers)
		}
	}
	return out
}

// train trains with the strategy on that many workers and parameter servers,
// each an Estimator of this process, and returns their model_dir.
func (j equalJob) train(t *testing.T, steps int64, with ...hooks.Hook) (dir string) {
	t.Helper()
	workers, servers := j.workers, j.servers
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir = t.TempDir()
	var all sync.WaitGroup
	for _, c := range equalTasks(t, workers, servers) {
		rc, err := runconfig.FromTFConfig(c, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.TrainDistribute(j.strategy),
			runconfig.Session(runconfig.SessionConfig{HardPlacement: j.hard}))
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(j.fn, append([]estimator.Option{estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler))}, j.options...)...)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		all.Go(func() {
			var err error
			if rc.TaskType() == runconfig.PS {
				err = e.RunParameterServer(ctx)
			} else {
				_, err = e.Train(ctx, j.data, estimator.MaxSteps(steps), estimator.WithHooks(with...))
			}
			if err != nil {
				t.Errorf("%s %d: %v", rc.TaskType(), rc.TaskID(), err)
				cancel()
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return dir
}

// equalTasks returns the TF_CONFIG of each task, empty for a single one.
func equalTasks(t *testing.T, workers, servers int) []string {
	if workers+servers == 1 {
		return []string{""}
	}
	ports, err := freeport.Reserve(workers + servers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ports.Close() })
	cluster := fmt.Sprintf(`"chief":[%q]`, ports.Address(0))
	tasks := []string{`"type":"chief","index":0`}
	list := func(job string, first, n int) {
		if n == 0 {
			return
		}
		cluster += fmt.Sprintf(`,%q:[`, job)
		for i := range n {
			if i > 0 {
				cluster += ","
			}
			cluster += fmt.Sprintf("%q", ports.Address(first+i))
			tasks = append(tasks, fmt.Sprintf(`"type":%q,"index":%d`, job, i))
		}
		cluster += "]"
	}
	list("worker", 1, workers-1)
	list("ps", workers, servers)
	for i, task := range tasks {
		tasks[i] = fmt.Sprintf(`{"cluster":{%s},"task":{%s}}`, cluster, task)
	}
	return tasks
}

// equalStrategy is a strategy and the tasks that it runs with.
type equalStrategy struct {
	name             string
	strategy         runconfig.Strategy
	workers, servers int
}

// equalStrategies are the synchronous strategies.
var equalStrategies = []equalStrategy{
	{"mirrored", runconfig.Strategy{Name: "mirrored", Replicas: 2}, 1, 0},
	{"central_storage", runconfig.Strategy{Name: "central_storage", Replicas: 2}, 1, 0},
	{"all_reduce_2", runconfig.Strategy{Name: "multi_worker_mirrored"}, 2, 0},
	{"all_reduce_4", runconfig.Strategy{Name: "multi_worker_mirrored"}, 4, 0},
	{"parameter_server_2", runconfig.Strategy{Name: "parameter_server", Sync: true}, 2, 1},
	{"parameter_server_3", runconfig.Strategy{Name: "parameter_server", Sync: true, Partitioner: runconfig.Partitioner{Kind: "fixed_shards"}}, 3, 2},
}

// TestSynchronousEquivalence: if the k-th batches of all workers together are batch k, the
// losses are the losses of one process with the whole batch.
func TestSynchronousEquivalence(t *testing.T) {
	rules := []struct {
		name string
		rule optimizers.Rule
		rate float64
	}{
		{"sgd", rule.SGD{}, 0.2},
		{"momentum", rule.Momentum{Momentum: 0.9}, 0.05},
		{"adam", rule.Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}, 0.01},
		{"own", ownRule(), 0.1},
	}
	if testing.Short() {
		rules = rules[1:2]
	}
	for _, rule := range rules {
		for _, embedding := range []bool{false, true} {
			if testing.Short() && !embedding {
				continue
			}
			fn := equalModel(rule.rule, rule.rate, embedding)
			want := equalRun(t, equalJob{fn: fn, data: equalData, strategy: runconfig.Strategy{Name: "default"}, workers: 1})
			if want[equalSteps-1] >= want[0] {
				t.Fatalf("%s: the loss went from %v to %v", rule.name, want[0], want[equalSteps-1])
			}
			for _, s := range equalStrategies {
				t.Run(fmt.Sprintf("%s/%s/embedding=%v", rule.name, s.name, embedding), func(t *testing.T) {
					got := equalRun(t, equalJob{fn: fn, data: equalData, strategy: s.strategy, workers: s.workers, servers: s.servers})
					worst := 0.0
					for i := range want {
						worst = max(worst, math.Abs(got[i]-want[i])/want[i])
					}
					if worst > 1e-4 {
						t.Errorf("losses differ by up to %.2g relative, expected 1e-4", worst)
					}
					t.Logf("greatest relative difference of losses over %d steps: %.2g", equalSteps, worst)
				})
			}
		}
	}
}
