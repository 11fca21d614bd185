package estimator_test

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	G "gorgonia.org/gorgonia"
)

// The rates and first values of adversaries.
const (
	generatorRate, discriminatorRate   = 0.05, 0.02
	firstGenerator, firstDiscriminator = 0.5, 2.0
)

// adversaries are two numbers: the generator maps x to g*x, the discriminator scores y as
// d*y. The discriminator's loss is the mean of (d*g*x)^2 + (d*x-1)^2, the generator's that
// of (d*g*x-1)^2.
func adversaries(mc *estimator.ModelContext, features models.Features, _ models.Labels) (*estimator.Spec, error) {
	x := features.Dense("x")
	weight := func(scope string, first float64) (w *G.Node) {
		mc.Scope(scope, func() {
			w = mc.Variable("weight", []int{1, 1}, models.WithInit(initializers.Constant{Value: first}))
		})
		return w
	}
	g, d := weight("generator", firstGenerator), weight("discriminator", firstDiscriminator)
	one := ops.Scalar(mc, mc.DType(), 1)
	square := func(n *G.Node) *G.Node { return ops.Mul(mc, n, n) }
	made := ops.MatMul(mc, x, g)
	scored, real := ops.MatMul(mc, made, d), ops.MatMul(mc, x, d)
	dLoss := ops.Mean(mc, ops.Add(mc, square(scored), square(ops.Sub(mc, real, one))))
	gLoss := ops.Mean(mc, square(ops.Sub(mc, scored, one)))
	spec := &estimator.Spec{Loss: ops.Add(mc, dLoss, gLoss), Predictions: estimator.Nodes{"made": made, "d_loss": dLoss, "g_loss": gLoss}}
	if mc.Mode() == models.Train {
		spec.TrainOp = optimizers.MinimizeEach(mc,
			optimizers.Objective{Loss: gLoss, Optimizer: optimizers.SGD(generatorRate), Variables: "generator/"},
			optimizers.Objective{Loss: dLoss, Optimizer: optimizers.SGD(discriminatorRate), Variables: "discriminator/"})
	}
	return spec, mc.Err()
}

// adversarialData is -1, 0.5, 2, 1, -0.5, 1.5 repeated, in steps of six rows over all replicas.
func adversarialData(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	var x []float32
	for i, v := range adversarialRows {
		if i%max(ic.NumPipelines, 1) == ic.Pipeline {
			x = append(x, v)
		}
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 1))
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(len(adversarialRows)/max(ic.ReplicasInSync, 1), true)), nil
}

var adversarialRows = []float32{-1, 0.5, 2, 1, -0.5, 1.5}

// adversarialSteps returns the two numbers after n steps by the formulas, and the losses of the last step.
func adversarialSteps(n int) (g, d, dLoss, gLoss float64) {
	g, d = firstGenerator, firstDiscriminator
	for range n {
		var byG, byD float64
		dLoss, gLoss = 0, 0
		for _, v := range adversarialRows {
			x, rows := float64(v), float64(len(adversarialRows))
			scored, real := d*g*x, d*x
			dLoss += (scored*scored + (real-1)*(real-1)) / rows
			gLoss += (scored - 1) * (scored - 1) / rows
			byD += (2*scored*g*x + 2*(real-1)*x) / rows
			byG += 2 * (scored - 1) * d * x / rows
		}
		g, d = g-generatorRate*byG, d-discriminatorRate*byD
	}
	return g, d, dLoss, gLoss
}

// TestTwoLossesUnderEveryStrategy: two losses over one graph are each differentiated by their own variables.
func TestTwoLossesUnderEveryStrategy(t *testing.T) {
	const steps = 12
	wantG, wantD, _, _ := adversarialSteps(steps)
	for _, st := range stepStrategies {
		t.Run(st.name, func(t *testing.T) {
			dir := t.TempDir()
			fn := estimator.ModelFunc(adversaries)
			for _, r := range trainCluster(t, dir, st.workers, st.servers, st.s, func(_ int, m *member) {
				m.fn, m.input, m.opts = fn, estimator.InputFunc(adversarialData), []estimator.TrainOption{estimator.MaxSteps(steps)}
			}) {
				if r.err != nil {
					t.Fatalf("%s: %v", r.task, r.err)
				}
			}
			e := custom(t, fn, dir)
			for name, want := range map[string]float64{"generator/weight": wantG, "discriminator/weight": wantD} {
				v, err := e.VariableValue(name)
				if err != nil {
					t.Fatal(err)
				}
				if got := v.Float(0); math.Abs(got-want) > 1e-5 {
					t.Errorf("%s is %v, expected %v", name, got, want)
				}
			}
		})
	}
}

// TestLoopReadsTensors: a loop reads predictions and nodes of the graph by name, at any time.
func TestLoopReadsTensors(t *testing.T) {
	rc, err := runconfig.New(runconfig.ModelDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	l, err := estimator.OpenLoop(t.Context(), estimator.ModelFunc(adversaries), estimator.InputFunc(adversarialData), estimator.WithRunConfig(rc))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	step := func() {
		t.Helper()
		if ok, err := l.Step(t.Context()); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if _, err := l.Value("loss"); err == nil {
		t.Error("before the first step: expected an error")
	}
	step()
	if _, err := l.Value("d_loss"); err == nil || !strings.Contains(err.Error(), "was not asked for") {
		t.Errorf("got %v, expected that d_loss was not asked for", err)
	}
	if err := l.Fetch("d_loss", "g_loss", "made", "generator/weight/Read/ReadVariableOp:0"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Value("d_loss"); err == nil || !strings.Contains(err.Error(), "since Fetch") {
		t.Errorf("got %v, expected that there was no step", err)
	}
	if err := l.Fetch("nothing"); err == nil || !strings.Contains(err.Error(), `no tensor "nothing"`) {
		t.Errorf("got %v, expected an error", err)
	}
	step()
	g, _, _, _ := adversarialSteps(1)
	_, _, dLoss, gLoss := adversarialSteps(2)
	for name, want := range map[string]float64{"d_loss": dLoss, "g_loss": gLoss, "loss": dLoss + gLoss, "made": g * float64(adversarialRows[0]), "generator/weight/Read/ReadVariableOp:0": g} {
		v, err := l.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Float(0); math.Abs(got-want) > 1e-5 {
			t.Errorf("%s is %v, expected %v", name, got, want)
		}
	}
}

// TestObjectiveErrors: incompatible objectives are a model error.
func TestObjectiveErrors(t *testing.T) {
	for want, objectives := range map[string]func(loss *G.Node) []optimizers.Objective{
		"expected at least one objective":    func(*G.Node) []optimizers.Objective { return nil },
		"objective 0: expected an optimizer": func(l *G.Node) []optimizers.Objective { return []optimizers.Objective{{Loss: l}} },
		"objective 1: variable dense/kernel has another objective": func(l *G.Node) []optimizers.Objective {
			return []optimizers.Objective{{Loss: l, Optimizer: optimizers.SGD(1), Variables: ""}, {Loss: l, Optimizer: optimizers.SGD(1), Variables: "dense/kernel"}}
		},
		"objective 0: no trainable variable reaches the loss": func(l *G.Node) []optimizers.Objective {
			return []optimizers.Objective{{Loss: l, Optimizer: optimizers.SGD(1), Variables: "kernel"}}
		},
		"objective 0: variables: error parsing regexp": func(l *G.Node) []optimizers.Objective {
			return []optimizers.Objective{{Loss: l, Optimizer: optimizers.SGD(1), Variables: "("}}
		},
		"objective 1: accumulate_steps 2, but 1 of the first objective": func(l *G.Node) []optimizers.Objective {
			second := optimizers.SGD(1)
			second.AccumulateSteps = 2
			return []optimizers.Objective{{Loss: l, Optimizer: optimizers.SGD(1), Variables: "dense/kernel"}, {Loss: l, Optimizer: second, Variables: "dense/bias"}}
		},
		"a loss scale that changes is of one loss": func(l *G.Node) []optimizers.Objective {
			o := optimizers.SGD(1)
			o.LossScale = optimizers.DynamicLossScale()
			return []optimizers.Objective{{Loss: l, Optimizer: o, Variables: ""}}
		},
	} {
		fn := estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, _ models.Labels) (*estimator.Spec, error) {
			var loss *G.Node
			mc.Scope("dense", func() {
				loss = ops.Mean(mc, ops.Add(mc, ops.MatMul(mc, f.Dense("x"), mc.Variable("kernel", []int{2, 1})), mc.Variable("bias", []int{1, 1})))
			})
			return &estimator.Spec{Loss: loss, TrainOp: optimizers.MinimizeEach(mc, objectives(loss)...)}, nil
		})
		_, err := custom(t, fn, t.TempDir()).Train(t.Context(), &toyData{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestLoopFetchesInLockstep: workers in lock step may ask for tensors between two steps.
func TestLoopFetchesInLockstep(t *testing.T) {
	const name = "made"
	g, _, _, _ := adversarialSteps(1)
	dir := t.TempDir()
	var all sync.WaitGroup
	for rank, text := range equalTasks(t, 2, 0) {
		rc, err := runconfig.FromTFConfig(text, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(runconfig.Strategy{Name: "multi_worker_mirrored"}))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			ctx := t.Context()
			l, err := estimator.OpenLoop(ctx, estimator.ModelFunc(adversaries), estimator.InputFunc(adversarialData),
				estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() {
				if err := l.Close(ctx); err != nil {
					t.Errorf("rank %d: %v", rank, err)
				}
			}()
			for i := range 2 {
				if i == 1 {
					if err := l.Fetch(name); err != nil {
						t.Errorf("rank %d: %v", rank, err)
					}
				}
				if more, err := l.Step(ctx); !more || err != nil {
					t.Errorf("rank %d: %v %v", rank, more, err)
					return
				}
			}
			v, err := l.Value(name)
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
				return
			}
			if got, want := v.Float(0), g*float64(adversarialRows[rank]); math.Abs(got-want) > 1e-5 {
				t.Errorf("rank %d: %s is %v, expected %v", rank, name, got, want)
			}
		})
	}
	all.Wait()
}
