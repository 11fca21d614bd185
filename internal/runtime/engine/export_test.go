package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// ContractOn runs the cases of TestContract on another device. It returns the steps that the host did, with op and reason.
func ContractOn(t *testing.T, dev device.Device, seed uint64) (onHost []string) {
	eachCase(func(name string, c *opCase, d tensor.DType) {
		t.Run(name, func(t *testing.T) {
			k := &contract{c: c, d: d}
			k.build(t, dev, 4)
			r := rand.New(rand.NewPCG(seed, 2))
			for _, batch := range []int{4, 3, 1, 6} {
				k.run(t, r, batch)
			}
			onHost = append(onHost, k.p.HostSteps()...)
			k.close(t)
		})
	})
	slices.Sort(onHost)
	return slices.Compact(onHost)
}

// CompileContractOn only compiles the cases.
func CompileContractOn(t *testing.T, dev device.Device) {
	eachCase(func(_ string, c *opCase, d tensor.DType) {
		k := &contract{c: c, d: d}
		k.build(t, dev, 4)
		k.close(t)
	})
}

func eachCase(f func(name string, c *opCase, d tensor.DType)) {
	for _, c := range allCases() {
		for _, d := range c.types() {
			f(fmt.Sprintf("%s/%v/%v", c.op, c.label(), d), c, d)
		}
	}
}

func (k *contract) close(t *testing.T) {
	if err := k.p.Close(); err != nil {
		t.Error(err)
	}
	if err := k.vars.Close(); err != nil {
		t.Error(err)
	}
}

// TrainMLP trains a classifier for 20 steps, some with fewer rows. It returns the variables.
func TrainMLP(t *testing.T, dev device.Device, how Precision) map[string]*tensor.Tensor {
	t.Helper()
	m := newMLP(tensor.Float32, 40, 96, 10, 0.1)
	vars := m.variables(t, dev, 5)
	p := ok(Compile(m.g, m.spec, dev, vars, Options{Capacity: 64, Precision: how}))
	if on := p.HostSteps(); len(on) > 0 {
		t.Errorf("expected no steps on the host, got %v", on)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for i := range 20 {
		n := 64 - i%3
		feeds := []*tensor.Tensor{tensor.New(tensor.Float32, n, 40), tensor.New(tensor.Int64, n)}
		fillRandom(r, feeds[0], 1)
		for j := range n {
			tensor.Values[int64](feeds[1])[j] = r.Int64N(10)
		}
		if err := p.Run(context.Background(), n, feeds); err != nil {
			t.Fatal(err)
		}
	}
	all := ok(vars.Snapshot())
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := vars.Close(); err != nil {
		t.Error(err)
	}
	return all
}

// TrainOnBadLabel runs a step with a label that is no class, then a good step. It returns the error of the first step, and
// fails if that step has changed a variable or the second step fails.
func TrainOnBadLabel(t *testing.T, dev device.Device) error {
	t.Helper()
	m := newMLP(tensor.Float32, 4, 8, 3, 0.1)
	vars := m.variables(t, dev, 5)
	p := ok(Compile(m.g, m.spec, dev, vars, Options{Capacity: 2}))
	before := ok(vars.Snapshot())
	feeds := []*tensor.Tensor{tensor.New(tensor.Float32, 2, 4), dense([]int64{1, 3}, 2)}
	fillRandom(rand.New(rand.NewPCG(1, 1)), feeds[0], 1)
	bad := p.Run(context.Background(), 2, feeds)
	for name, v := range ok(vars.Snapshot()) {
		if string(v.Bytes) != string(before[name].Bytes) {
			t.Errorf("%s has changed", name)
		}
	}
	tensor.Values[int64](feeds[1])[1] = 2
	if err := p.Run(context.Background(), 2, feeds); err != nil {
		t.Error(err)
	}
	if string(ok(vars.Get("w1")).Bytes) == string(before["w1"].Bytes) {
		t.Error("a good step has changed nothing")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := vars.Close(); err != nil {
		t.Error(err)
	}
	return bad
}

// UpdateWithBadID makes guarded updates of another variable and of a table, with an id that is no row, then good updates. It
// returns the error of the first run, and fails if that run has changed a variable or the second run fails.
func UpdateWithBadID(t *testing.T, dev device.Device) error {
	t.Helper()
	s := &scene{t: t, Builder: graph.NewBuilder(graph.New()), vars: ok(NewVariables(dev)), dev: dev}
	table := fixedType(tensor.Float32, 4, 2)
	for name, v := range map[string]*tensor.Tensor{"table": tensor.New(tensor.Float32, 4, 2), "b": tensor.Scalar(float32(1)), "x": tensor.Scalar(float32(1))} {
		if err := s.vars.Create(name, v); err != nil {
			t.Fatal(err)
		}
	}
	ids, rows := s.Placeholder("ids", batchType(tensor.Int64)), s.Placeholder("rows", batchType(tensor.Float32, 2))
	scatter := s.Node("ResourceScatterAdd", "scatter", nil, graph.Attrs{"dtype": tensor.Float32}, s.Variable("table", table), ids, rows)
	s.targets = append(s.targets, scatter)
	add := s.write("AssignAddVariableOp", "b", s.num(5), scatter)
	keep := s.Op("Greater", "keep", fixedType(tensor.Bool), nil, s.read("x"), s.num(0))
	for name, typ := range map[string]graph.Type{"table": table, "b": scalarType} {
		v := s.Variable(name, typ)
		s.write("AssignVariableOp", name, s.Op("SelectV2", "choose", typ, nil, keep, s.Read(v, typ, scatter, add), s.Read(v, typ)))
	}
	p := ok(Compile(s.Graph, Spec{Feeds: []graph.Output{ids, rows}, Targets: s.targets}, dev, s.vars, Options{}))
	if !slices.ContainsFunc(p.ops, func(o *op) bool { return o.guarded }) {
		t.Error("no update is guarded")
	}
	feeds := []*tensor.Tensor{dense([]int64{1, 9}, 2), dense([]float32{1, 1, 1, 1}, 2, 2)}
	bad := p.Run(bg, 2, feeds)
	sum := func() (sum float32) {
		for _, x := range append(tensor.Values[float32](ok(s.vars.Get("table"))), tensor.Values[float32](ok(s.vars.Get("b")))...) {
			sum += x
		}
		return sum
	}
	if x := sum(); x != 1 {
		t.Errorf("variables have changed by %v", x-1)
	}
	tensor.Values[int64](feeds[0])[1] = 3
	if err := p.Run(bg, 2, feeds); err != nil || sum() != 10 {
		t.Errorf("good updates: %v; the sum of all is %v, expected 10", err, sum())
	}
	if err := errors.Join(p.Close(), s.vars.Close()); err != nil {
		t.Error(err)
	}
	return bad
}

// RandomOn draws numbers from the three streams, batch times 5 each.
func RandomOn(t *testing.T, dev device.Device, batch int) (all []*tensor.Tensor) {
	t.Helper()
	g := graph.New()
	b := graph.NewBuilder(g)
	typ := batchType(tensor.Float32, 5)
	x := b.Placeholder("x", typ)
	shape := b.Op("Shape", "shape", fixedType(tensor.Int32, 2), nil, x)
	key, counter := b.Placeholder("key", fixedType(tensor.Uint64, 1)), b.Placeholder("counter", fixedType(tensor.Uint64, 2))
	alg := b.Const("alg", dense([]int32{1}))
	spec := Spec{Feeds: []graph.Output{x, key, counter}}
	for _, op := range []string{"StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"} {
		spec.Fetches = append(spec.Fetches, b.Op(op, op, typ, nil, shape, key, counter, alg))
	}
	vars := ok(NewVariables(dev))
	p := ok(Compile(g, spec, dev, vars, Options{Capacity: batch}))
	if on := p.HostSteps(); len(on) > 0 {
		t.Errorf("expected no steps on the host, got %v", on)
	}
	if err := p.Run(context.Background(), batch, []*tensor.Tensor{tensor.New(tensor.Float32, batch, 5), dense([]uint64{7}, 1), dense([]uint64{1 << 63, 9}, 2)}); err != nil {
		t.Fatal(err)
	}
	for i := range spec.Fetches {
		v := p.Value(i)
		all = append(all, &tensor.Tensor{DType: v.DType, Shape: v.Shape, Bytes: slices.Clone(v.Bytes)})
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	return all
}
