package estimator_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// meanStep keeps the mean of all rows seen, their number, and the greatest first
// element, which is sent as a record.
type meanStep struct{ fail string }

func init() {
	optimizers.RegisterStepFunction("toy_mean", func(config []byte) (optimizers.StepFunction, error) {
		return meanStep{string(config)}, nil
	})
}

func (f meanStep) Begin(vars optimizers.StepVariables) (sums int, stamp int64, err error) {
	return vars.Value("mean").Len() + 1, 0, nil
}

func (f meanStep) Collect(vars optimizers.StepVariables, args []*tensor.Tensor, t *optimizers.Tally) error {
	if f.fail == "collect" {
		return errors.New("as asked")
	}
	x, d := tensor.Values[float32](args[0]), len(t.Sums)-1
	top := math.Inf(-1)
	for i, v := range x {
		t.Sums[i%d] += float64(v)
		if i%d == 0 {
			t.Sums[d]++
			top = max(top, float64(v))
		}
	}
	t.Records = binary.LittleEndian.AppendUint64(t.Records, math.Float64bits(top))
	return nil
}

func (f meanStep) Apply(vars optimizers.StepVariables, t *optimizers.Tally) error {
	mean, seen, top := tensor.Values[float64](vars.Change("mean")), tensor.Values[int64](vars.Change("seen")), tensor.Values[float64](vars.Change("top"))
	if f.fail == "apply" {
		seen[7] = 0 // panics
	}
	d := len(mean)
	n := float64(seen[0]) + t.Sums[d]
	for i := range mean {
		mean[i] = (mean[i]*float64(seen[0]) + t.Sums[i]) / n
	}
	seen[0] = int64(n)
	for b := t.Records; len(b) > 0; b = b[8:] {
		top[0] = max(top[0], math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return nil
}

// meanModel is trained by meanStep; its loss is the mean of x.
func meanModel(fail string) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		x := features.Dense("x")
		var vars []*models.Variable
		add := func(name string, d tensor.DType, n int) {
			vars = append(vars, mc.VariableOf(mc.Variable(name, []int{n}, models.WithDType(d), models.NonTrainable(), models.WithInit(initializers.Zeros()))))
		}
		add("mean", tensor.Float64, 6)
		add("seen", tensor.Int64, 1)
		add("top", tensor.Float64, 1)
		spec := &estimator.Spec{Loss: ops.Mean(mc, x), Predictions: estimator.Nodes{"x": x}}
		if mc.Mode() == models.Train {
			spec.TrainOp = &optimizers.TrainOp{Loss: spec.Loss, Step: &optimizers.StepOp{Function: "toy_mean", Config: []byte(fail), Args: []*G.Node{x}, Variables: vars}}
		}
		return spec, nil
	})
}

// stepStrategies are all strategies, with their numbers of tasks.
var stepStrategies = []struct {
	name             string
	workers, servers int
	s                runconfig.Strategy
}{
	{"default", 1, 0, runconfig.Strategy{Name: "default"}},
	{"one_device", 1, 0, runconfig.Strategy{Name: "one_device"}},
	{"mirrored", 1, 0, runconfig.Strategy{Name: "mirrored", Replicas: 3}},
	{"central_storage", 1, 0, runconfig.Strategy{Name: "central_storage", Replicas: 2}},
	{"multi_worker_mirrored", 3, 0, runconfig.Strategy{Name: "multi_worker_mirrored"}},
	{"parameter_server, synchronous", 3, 2, runconfig.Strategy{Name: "parameter_server", Sync: true}},
	{"parameter_server, asynchronous", 1, 2, runconfig.Strategy{Name: "parameter_server"}},
}

// TestStepFunctionIsTheSameEverywhere: a step function gives the same variables under every strategy.
func TestStepFunctionIsTheSameEverywhere(t *testing.T) {
	var x [6]float64
	rows, top := 0, math.Inf(-1)
	for i := range equalSteps * equalBatch {
		h := uint32(i) * 2654435761
		var row [6]float32
		for j := range uint32(6) {
			row[j] = float32((h>>(j*3))%97)/97 - 0.5
		}
		row[5] += float32(h >> 8 % equalRows % 3)
		for j, v := range row {
			x[j] += float64(v)
		}
		top = max(top, float64(row[0]))
		rows++
	}
	for _, c := range stepStrategies {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, r := range trainCluster(t, dir, c.workers, c.servers, c.s, func(_ int, m *member) {
				m.fn, m.opts = meanModel(""), []estimator.TrainOption{estimator.MaxSteps(equalSteps)}
			}) {
				if r.err != nil {
					t.Fatalf("%s: %v", r.task, r.err)
				}
			}
			e := custom(t, meanModel(""), dir)
			check := func(name string, i int, want float64) {
				v, err := e.VariableValue(name)
				if err != nil {
					t.Fatal(err)
				}
				if got := v.Float(i); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
					t.Errorf("%s[%d] is %v, expected %v", name, i, got, want)
				}
			}
			check("global_step", 0, equalSteps)
			for j := range 6 {
				check("mean", j, x[j]/float64(rows))
			}
			check("seen", 0, float64(rows))
			check("top", 0, top)
		})
	}
}

// TestStepFunctionResumes: interrupted and resumed training ends with the same variables
// as uninterrupted training.
func TestStepFunctionResumes(t *testing.T) {
	for _, c := range stepStrategies {
		t.Run(c.name, func(t *testing.T) {
			whole, cut := t.TempDir(), t.TempDir()
			train := func(dir string, at int64) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				for i, r := range trainCluster(t, dir, c.workers, c.servers, c.s, func(rank int, m *member) {
					m.ctx, m.fn, m.opts = ctx, meanModel(""), []estimator.TrainOption{estimator.MaxSteps(40)}
					if rank == 0 && at > 0 {
						m.opts = append(m.opts, estimator.WithHooks(&cancelAt{step: at, cancel: cancel}))
					}
				}) {
					if i < c.workers && (at == 0 && r.err != nil || at > 0 && !errors.Is(r.err, estimator.ErrInterrupted)) {
						t.Fatalf("%s: %v", r.task, r.err)
					}
				}
			}
			train(whole, 0)
			train(cut, 7)
			train(cut, 23)
			train(cut, 0)
			compareCheckpoints(t, whole, cut, "model.ckpt-40")
		})
	}
}

// TestFailingStepFunction: errors and panics of a step function end the training and name it.
func TestFailingStepFunction(t *testing.T) {
	for fail, want := range map[string]string{"collect": `step function "toy_mean": collect: as asked`, "apply": `step function "toy_mean": apply: panic: `} {
		for _, c := range stepStrategies {
			if c.workers+c.servers > 1 && os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
				continue // the rest of the cluster waits for the others; internal/distributed/ps has its own test
			}
			t.Run(fmt.Sprintf("%s under %s", fail, c.name), func(t *testing.T) {
				found := false
				for _, r := range trainCluster(t, t.TempDir(), c.workers, c.servers, c.s, func(_ int, m *member) {
					m.fn, m.opts = meanModel(fail), []estimator.TrainOption{estimator.MaxSteps(3)}
				}) {
					found = found || r.err != nil && strings.Contains(r.err.Error(), want)
				}
				if !found {
					t.Errorf("no task ended with %s", want)
				}
			})
		}
	}
}
