package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/internal/graph"
)

// ContractOn runs the cases of TestContract on another device. It returns the steps that the host did: op, and why.
func ContractOn(t *testing.T, dev device.Device) (onHost []string) {
	eachCase(func(name string, c *opCase, d graph.DType) {
		t.Run(name, func(t *testing.T) {
			k := &contract{c: c, d: d}
			k.build(t, dev, 4)
			r := rand.New(rand.NewPCG(1, 2))
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
	eachCase(func(_ string, c *opCase, d graph.DType) {
		k := &contract{c: c, d: d}
		k.build(t, dev, 4)
		k.close(t)
	})
}

func eachCase(f func(name string, c *opCase, d graph.DType)) {
	for _, c := range allCases() {
		types := []graph.DType{graph.Float32, graph.Float64}
		if !c.hasFloat() {
			types = types[:1]
		}
		for _, d := range types {
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

// TrainMLP trains a classifier for 20 steps, of which some have fewer rows. It returns the variables.
func TrainMLP(t *testing.T, dev device.Device) map[string]*graph.Tensor {
	t.Helper()
	m := newMLP(graph.Float32, 40, 96, 10, 0.1)
	vars := m.variables(t, dev, 5)
	p := ok(Compile(m.g, m.spec, dev, vars, Options{Capacity: 64}))
	if on := p.HostSteps(); len(on) > 0 {
		t.Errorf("expected no steps on the host, got %v", on)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for i := range 20 {
		n := 64 - i%3
		feeds := []*graph.Tensor{graph.NewTensor(graph.Float32, n, 40), graph.NewTensor(graph.Int64, n)}
		fillRandom(r, feeds[0], 1)
		for j := range n {
			graph.Of[int64](feeds[1])[j] = r.Int64N(10)
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
