package ps

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// layered counts tallies; after two of one layer the next layer begins, and late tallies are stale.
// The table's rows all hold the layer, as the scalar does.
type layered struct{}

func init() {
	optimizers.RegisterStepFunction("ps_layered", func([]byte) (optimizers.StepFunction, error) { return layered{}, nil })
}

func (layered) Begin(vars optimizers.StepVariables) (int, int64, error) {
	return 2, tensor.Values[int64](vars.Value("layer"))[0], nil
}

func (layered) Collect(optimizers.StepVariables, []*tensor.Tensor, *optimizers.Tally) error {
	return nil
}

func (layered) Apply(vars optimizers.StepVariables, t *optimizers.Tally) error {
	if t.Sums[0] < 0 {
		tensor.Values[int64](vars.Change("layer"))[0] = -1
		return errors.New("negative")
	}
	if len(t.Records) > 0 {
		panic(string(t.Records))
	}
	got := tensor.Values[float64](vars.Change("got"))
	if got[0] += t.Sums[0]; got[0] < 2 {
		return nil
	}
	got[0] = 0
	layer := tensor.Values[int64](vars.Change("layer"))
	layer[0]++
	table := tensor.Values[float64](vars.Change("table"))
	for i := range table {
		table[i] = float64(layer[0])
	}
	return nil
}

// newLayered is a job with that function on two servers.
func newLayered(t *testing.T, workers int, sync *Sync) (*Local, *Plan, []*Client) {
	t.Helper()
	variables := []*models.Variable{{Name: "big", DType: tensor.Float32, Shape: []int{100}}, {Name: "got", DType: tensor.Float64, Shape: []int{1}},
		{Name: "layer", DType: tensor.Int64}, {Name: "table", DType: tensor.Float64, Shape: []int{300, 100}}}
	p, err := NewPlan(variables, Config{Servers: 2, Partitioner: FixedShards(2), Sync: sync,
		Train: &optimizers.TrainOp{Step: &optimizers.StepOp{Function: "ps_layered", Variables: variables[1:]}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range p.Units() {
		if v := p.Variables[u.Variable]; v.Step && (u.Server != 0 || v.Parts != 1) {
			t.Errorf("%s has %d parts, one on server %d: expected it whole on server 0", v.Name, v.Parts, u.Server)
		}
	}
	l := newLocal(t, 2, workers, ServerConfig{})
	var clients []*Client
	for i := range workers {
		clients = append(clients, l.Client(i, ClientConfig{}))
	}
	zero := func(string) Fill { return func(*tensor.Tensor, int) error { return nil } }
	if err := clients[0].Create(testContext(t), p, State{Value: zero}); err != nil {
		t.Fatal(err)
	}
	for _, c := range clients[1:] {
		if _, err := c.WaitReady(testContext(t), p); err != nil {
			t.Fatal(err)
		}
	}
	return l, p, clients
}

func pushTally(t *testing.T, c *Client, step int64, tally optimizers.Tally) (Reply, error) {
	t.Helper()
	return c.Push(testContext(t), Push{Step: step, Weight: 1, Tally: &tally, Position: []byte(fmt.Sprint(step))})
}

// TestStaleTallies: tallies of an earlier layer are dropped and counted, and make no step.
func TestStaleTallies(t *testing.T) {
	_, p, c := newLayered(t, 2, nil)
	for i, want := range []struct {
		stamp, step int64
		stale       bool
	}{{0, 1, false}, {0, 2, false}, {0, 2, true}, {1, 3, false}, {7, 3, true}} {
		r, err := pushTally(t, c[i%2], 0, optimizers.Tally{Stamp: want.stamp, Sums: []float64{1, 0}})
		if err != nil || r.Stale != want.stale || r.GlobalStep != want.step {
			t.Errorf("push %d: %+v, %v: expected stale %v, step %d", i, r, err, want.stale, want.step)
		}
	}
	s, err := c[0].Connect(testContext(t), p)
	if err != nil || s.Servers[0].Stats.Stale != 2 || s.Servers[0].Stats.Pushes != 3 {
		t.Errorf("%+v, %v: expected 2 stale pushes of 5", s, err)
	}
	f, err := c[0].Fence(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := read(t, f)
	if f.Step != 3 || tensor.Values[int64](got["layer"])[0] != 1 || tensor.Values[float64](got["got"])[0] != 1 {
		t.Errorf("the checkpoint is of step %d, layer %v, got %v: expected 3, 1, 1", f.Step, got["layer"].Bytes, got["got"].Float(0))
	}
}

// TestFailingApply: a function that fails or panics causes an error that names it, and changes nothing.
func TestFailingApply(t *testing.T) {
	_, p, c := newLayered(t, 1, nil)
	for _, x := range []struct {
		tally optimizers.Tally
		want  string
	}{
		{optimizers.Tally{Sums: []float64{-1, 0}}, `step function "ps_layered": apply: negative`},
		{optimizers.Tally{Sums: []float64{0, 0}, Records: []byte("help")}, `step function "ps_layered": apply: panic: help`},
		{optimizers.Tally{Sums: []float64{0}}, `a tally of 1 sums with stamp 0: expected 2`},
	} {
		if _, err := pushTally(t, c[0], 0, x.tally); err == nil || !strings.Contains(err.Error(), x.want) || errors.Is(err, ErrReset) {
			t.Errorf("got %v, expected %s", err, x.want)
		}
	}
	if _, err := c[0].Push(testContext(t), Push{Weight: 1}); err == nil {
		t.Error("a push without a tally was taken")
	}
	m, err := NewMirror(p)
	if err != nil {
		t.Fatal(err)
	}
	now, err := c[0].Pull(testContext(t), m)
	if err != nil || now.GlobalStep != 0 || tensor.Values[int64](m.Tensor("layer"))[0] != 0 {
		t.Errorf("%+v, %v, layer %v: expected nothing to have changed", now, err, m.Tensor("layer").Bytes)
	}
	if r, err := pushTally(t, c[0], 0, optimizers.Tally{Sums: []float64{2, 0}}); err != nil || r.GlobalStep != 1 {
		t.Errorf("%+v, %v: expected it to go on", r, err)
	}
}

// TestStepVariablesChangeTogether: a pull while others push gets all values of one moment.
func TestStepVariablesChangeTogether(t *testing.T) {
	_, p, c := newLayered(t, 3, nil)
	var pushing sync.WaitGroup
	for _, c := range c[1:] {
		pushing.Go(func() {
			m, err := NewMirror(p, "layer")
			if err != nil {
				t.Error(err)
				return
			}
			for range 60 {
				if _, err := c.Pull(testContext(t), m); err != nil {
					t.Error(err)
				}
				if _, err := pushTally(t, c, 0, optimizers.Tally{Stamp: tensor.Values[int64](m.Tensor("layer"))[0], Sums: []float64{2, 0}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	m, err := NewMirror(p, "table", "layer")
	if err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if _, err := c[0].Pull(testContext(t), m); err != nil {
			t.Fatal(err)
		}
		layer := tensor.Values[int64](m.Tensor("layer"))[0]
		for i, x := range tensor.Values[float64](m.Tensor("table")) {
			if x != float64(layer) {
				t.Fatalf("element %d of the table is of layer %v, the layer is %d", i, x, layer)
			}
		}
	}
	pushing.Wait()
}

// TestSynchronousTallies: a step is the sum of the first workers' tallies.
func TestSynchronousTallies(t *testing.T) {
	_, p, c := newLayered(t, 3, &Sync{Aggregate: 2, Workers: 3})
	for i, want := range []bool{false, false, true} {
		r, err := pushTally(t, c[i], 0, optimizers.Tally{Sums: []float64{0.75, 0}})
		if err != nil || r.Stale != want {
			t.Errorf("rank %d: %+v, %v: expected stale %v", i, r, err, want)
		}
	}
	if _, err := c[0].WaitStep(testContext(t), 1); err != nil {
		t.Fatal(err)
	}
	m, err := NewMirror(p, "got")
	if err != nil {
		t.Fatal(err)
	}
	now, err := c[0].Pull(testContext(t), m)
	if got := tensor.Values[float64](m.Tensor("got"))[0]; err != nil || now.GlobalStep != 1 || got != 1.5 {
		t.Errorf("%+v, %v: got %v: expected step 1 and 1.5", now, err, got)
	}
	for i := range 2 {
		if _, err := pushTally(t, c[i], 1, optimizers.Tally{Sums: []float64{-1, 0}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c[0].WaitStep(testContext(t), 2); err == nil || !strings.Contains(err.Error(), `step function "ps_layered": apply: negative`) || errors.Is(err, ErrReset) {
		t.Errorf("got %v, expected the error of the function", err)
	}
}
