package distribute_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// ganScores returns the critic's average scores of data, and of what the generator makes from it.
func ganScores(c *distribute.Context) (real, fake *G.Node) {
	x := c.Arg("x", tensor.Float32, 6)
	var made, w *G.Node
	c.Scope("generator", func() { made = layers.Dense(c, x, 6, layers.Weights{Activation: ops.Tanh}) })
	c.Scope("critic", func() { w = c.Variable("kernel", []int{6, 1}) })
	score := func(x *G.Node) *G.Node { return ops.Mean(c, ops.Tanh(c, ops.MatMul(c, x, w))) }
	return score(x), score(made)
}

// ganStep trains the variables of either network by the difference of the scores.
func ganStep(variables string) distribute.Build {
	return func(c *distribute.Context) (distribute.Outputs, error) {
		real, fake := ganScores(c)
		loss := ops.Sub(c, fake, real)
		if variables == "generator/" {
			loss = ops.Sub(c, real, fake)
		}
		o := optimizers.Objective{Loss: loss, Optimizer: optimizers.Adam(0.01), Variables: variables}
		return distribute.Outputs{Loss: loss, Train: optimizers.MinimizeEach(c, o)}, nil
	}
}

// trainGAN makes both steps on each batch, and returns all variables.
func trainGAN(ctx context.Context, t *testing.T, rc runconfig.RunConfig) (tr trace, err error) {
	s, err := distribute.New(rc, quiet)
	if err != nil {
		return tr, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	critic, err := s.Function("critic", models.Train, ganStep("critic/"))
	if err != nil {
		return tr, err
	}
	generator, err := s.Function("generator", models.Train, ganStep("generator/"))
	if err != nil {
		return tr, err
	}
	data, err := s.Distribute(toyData(t, toyBatch*toyBatches), toyBatch, distribute.ShardRows)
	if err != nil {
		return tr, err
	}
	it, err := data.Iterate(ctx)
	if err != nil {
		return tr, err
	}
	defer it.Close()
	for {
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		for _, f := range []*distribute.Function{critic, generator} {
			if err == nil {
				_, err = f.Run(ctx, batch)
			}
		}
		if err != nil {
			return tr, err
		}
	}
	tr.variables = map[string]*tensor.Tensor{}
	for _, name := range s.VariableNames() {
		if s.Name() == "parameter_server" && !isModels(name) {
			continue
		}
		if tr.variables[name], err = s.Variable(name); err != nil {
			return tr, err
		}
	}
	return tr, nil
}

// TestTwoFunctions trains a GAN by two functions over the same variables, with an
// optimizer each. The result is the same under every synchronous strategy.
func TestTwoFunctions(t *testing.T) {
	train := func(t *testing.T, c setup) (all []trace) {
		t.Helper()
		var mu sync.Mutex
		c.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
			tr, err := trainGAN(ctx, t, rc)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, tr)
			return err
		})
		return all
	}
	want := train(t, setups[0])[0]
	names := []string{}
	for name := range want.variables {
		names = append(names, name)
	}
	if !slices.Contains(names, "beta1_power_1") || want.variables["global_step"].Float(0) != 2*toyBatches {
		t.Errorf("variables %s, step %v: expected each optimizer's own state, and a step of each function", strings.Join(names, " "), want.variables["global_step"])
	}
	asynchronous := setup{"parameter_server", runconfig.Strategy{Name: "parameter_server"}, 1, 2}
	synchronous := setup{"parameter_server sync", runconfig.Strategy{Name: "parameter_server", Sync: true}, 2, 2}
	for _, c := range slices.Concat(setups[1:], []setup{asynchronous, synchronous}) {
		t.Run(c.name, func(t *testing.T) {
			for _, got := range train(t, c) {
				expected := want
				if c.servers > 0 {
					expected.variables = map[string]*tensor.Tensor{}
					for name, v := range want.variables {
						if isModels(name) {
							expected.variables[name] = v
						}
					}
				}
				compareTraces(t, expected, got, 1e-5)
			}
		})
	}
}
