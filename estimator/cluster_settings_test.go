package estimator_test

import (
	"context"
	"github.com/goestimator/goestimator/internal/training/rule"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	G "gorgonia.org/gorgonia"
)

// terms are the settings of a task of a cluster.
type terms struct {
	optimizer optimizers.Optimizer
	units     int
	activate  func(c models.Context, x *G.Node) *G.Node
	batch     int
	maxSteps  int64
	run       []runconfig.Option
	strategy  runconfig.Strategy
}

// commonTerms are the settings that all tasks share unless a test changes them.
func commonTerms(s runconfig.Strategy) *terms {
	return &terms{optimizer: *optimizers.Momentum(0.05),
		units: 16, activate: ops.Tanh, batch: equalBatch, maxSteps: 1 << 30, strategy: s}
}

// model is a network with dropout; the seed determines its random keys.
func (x *terms) model(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	h := layers.Dense(mc, features.Dense("x"), x.units, layers.Weights{Activation: x.activate})
	logits := layers.Dense(mc, ops.Dropout(mc, h, 0.1), 3, layers.Weights{})
	spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})}
	if mc.Mode() == models.Train {
		spec.TrainOp = x.optimizer.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

func (x *terms) input(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	ds, err := equalData(ctx, ic)
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(x.batch/max(ic.ReplicasInSync, 1), false)), nil
}

// trainOnTerms trains a chief and a worker with adjusted settings. They all end
// when the worker does.
func trainOnTerms(t *testing.T, servers int, s runconfig.Strategy, adjust func(x *terms)) []ended {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return trainCluster(t, t.TempDir(), 2, servers, s, func(rank int, m *member) {
		x := commonTerms(s)
		if rank == 1 {
			adjust(x)
			m.train = func(ctx context.Context, e *estimator.Estimator) (estimator.TrainResult, error) {
				defer cancel()
				return e.Train(ctx, m.input, m.opts...)
			}
		}
		m.fn, m.input, m.ctx = estimator.ModelFunc(x.model), estimator.InputFunc(x.input), ctx
		m.opts = []estimator.TrainOption{estimator.MaxSteps(x.maxSteps)}
		m.run = append(append(m.run, runconfig.TrainDistribute(x.strategy)), x.run...)
	})
}

// strategiesOfClusters has the strategies of several processes, by their number of servers.
var strategiesOfClusters = []struct {
	name    string
	servers int
	s       runconfig.Strategy
}{
	{"multi_worker_mirrored", 0, runconfig.Strategy{Name: "multi_worker_mirrored"}},
	{"parameter_server", 1, runconfig.Strategy{Name: "parameter_server"}},
	{"parameter_server, sync", 1, runconfig.Strategy{Name: "parameter_server", Sync: true}},
}

// TestClusterComparesSettings: a worker with a different setting is refused. Its
// error names the setting and both values.
func TestClusterComparesSettings(t *testing.T) {
	for _, c := range []struct {
		name   string
		only   string // the strategy that has the setting; "": all
		change func(x *terms)
		want   []string // in the worker's error
	}{
		{"learning rate", "", func(x *terms) { x.optimizer.LearningRate = optimizers.Constant(0.06) }, []string{"learning_rate=0.06", "learning_rate=0.05"}},
		{"schedule", "", func(x *terms) {
			x.optimizer.LearningRate = optimizers.Warmup{Steps: 3, Then: optimizers.Constant(0.05)}
		}, []string{`learning_rate="Warmup{Steps:3, Then:0.05}"`, "learning_rate=0.05"}},
		{"hyper-parameter", "", func(x *terms) { x.optimizer.Rule = rule.Momentum{Momentum: 0.8} }, []string{"Momentum:0.8", "Momentum:0.9"}},
		{"rule of equal slots", "", func(x *terms) { x.optimizer.Rule = rule.Momentum{Momentum: 0.9, Nesterov: true} }, []string{"Nesterov:true", "Nesterov:false"}},
		{"rule", "", func(x *terms) { x.optimizer.Rule = rule.SGD{} }, []string{"optimizer=SGD{}", "Momentum{Momentum:0.9"}},
		{"clip", "", func(x *terms) {
			x.optimizer.Transforms = []optimizers.Transform{{Kind: optimizers.ClipNorm, Limit: 2}}
		}, []string{`clip="clip_norm 2"`, "clip=none"}},
		{"weight decay", "", func(x *terms) { x.optimizer.WeightDecay = 0.01 }, []string{"weight_decay=0.01", "weight_decay=0:"}},
		{"no decay", "", func(x *terms) { x.optimizer.NoDecay = "bias" }, []string{"weight_decay_exclude=bias", "weight_decay_exclude=none"}},
		{"accumulation", "", func(x *terms) { x.optimizer.AccumulateSteps = 2 }, []string{"accumulate_steps=2", "accumulate_steps=1"}},
		{"loss scale", "", func(x *terms) { x.optimizer.LossScale = optimizers.LossScale{Initial: 8} }, []string{"Initial:8", "Initial:0"}},
		{"slot names", "", func(x *terms) { x.optimizer.SlotNames = optimizers.KerasNames }, []string{"slot_names=keras", "slot_names=v1"}},
		{"batch size", "", func(x *terms) { x.batch = equalBatch / 2 }, []string{"batch_size=12", "batch_size=24"}},
		{"fewer steps", "", func(x *terms) { x.maxSteps = 10 }, []string{"max_steps=10", "max_steps=1073741824"}},
		{"more steps", "", func(x *terms) { x.maxSteps++ }, []string{"max_steps=1073741825", "max_steps=1073741824"}},
		{"seed", "", func(x *terms) { x.run = []runconfig.Option{runconfig.TFRandomSeed(7)} }, []string{"seed=7", "seed=1"}},
		{"precision", "", func(x *terms) {
			x.run = []runconfig.Option{runconfig.Session(runconfig.SessionConfig{Precision: "tf32"})}
		}, []string{"precision=tf32", "precision="}},
		{"graph", "", func(x *terms) { x.activate = ops.Relu }, []string{"graph="}},
		{"variable", "", func(x *terms) { x.units = 17 }, []string{"variable dense/kernel=", "float32[6,17]", "float32[6,16]"}},
		{"bytes per pack", "multi_worker_mirrored", func(x *terms) { x.strategy.BytesPerPack = 1000 }, []string{"bytes_per_pack=1000", "bytes_per_pack=0"}},
		{"staleness", "parameter_server", func(x *terms) { x.strategy.StalenessBound = 5 }, []string{"staleness_bound=5", "staleness_bound=0"}},
		{"sync", "parameter_server", func(x *terms) { x.strategy.Sync = true }, []string{"sync=true", "sync=false"}},
		{"transfer", "parameter_server", func(x *terms) { x.strategy.Transfer = "bfloat16" }, []string{"transfer=bfloat16", "transfer=none"}},
		{"partitioner", "parameter_server", func(x *terms) { x.strategy.Partitioner.Kind = "fixed_shards" }, []string{"fixed_shards"}},
	} {
		for _, s := range strategiesOfClusters {
			if c.only != "" && c.only != s.name {
				continue
			}
			t.Run(c.name+"/"+s.name, func(t *testing.T) {
				t.Parallel() // most of the time is waiting for the other task
				res := trainOnTerms(t, s.servers, s.s, c.change)
				if code := estimator.ExitCode(res[1].err); code != estimator.ExitMistake {
					t.Fatalf("exit code %d, expected %d: %v", code, estimator.ExitMistake, res[1].err)
				}
				for _, want := range c.want {
					if !strings.Contains(res[1].err.Error(), want) {
						t.Errorf("%v\ndoes not name %s", res[1].err, want)
					}
				}
				if code := estimator.ExitCode(res[0].err); s.servers == 0 && code != estimator.ExitMistake {
					t.Errorf("the chief's exit code is %d, expected %d: %v", code, estimator.ExitMistake, res[0].err)
				}
			})
		}
	}
}

// TestClusterSettingsOfHosts: tasks do not compare properties of a host, nor a seed that is not
// set.
func TestClusterSettingsOfHosts(t *testing.T) {
	for _, s := range strategiesOfClusters {
		t.Run(s.name, func(t *testing.T) {
			res := trainCluster(t, t.TempDir(), 2, s.servers, s.s, func(rank int, m *member) {
				x := commonTerms(s.s)
				m.fn, m.input = estimator.ModelFunc(x.model), estimator.InputFunc(x.input)
				m.opts = []estimator.TrainOption{estimator.MaxSteps(20)}
				m.run[1] = runconfig.LogStepCountSteps(0) // instead of the seed
				if rank == 1 {
					x.strategy.Device = "/cpu:0"
					m.run = append(m.run, runconfig.ModelDir(t.TempDir()), runconfig.TrainDistribute(x.strategy), runconfig.SaveSummarySteps(1),
						runconfig.Session(runconfig.SessionConfig{Precision: "float32", IntraOpThreads: 2}))
				}
			})
			for _, r := range res {
				if r.err != nil {
					t.Errorf("%s: %v", r.task, r.err)
				}
			}
		})
	}
}
