package lower

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
	gtensor "gorgonia.org/tensor"
)

// engine runs the lowered graph on the engine and compares it with the interpreter.
func (f *fixture) engine(t *testing.T, values []Value, tol float64) {
	t.Helper()
	dev := device.NewHost()
	defer dev.Close()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		t.Fatal(err)
	}
	var spec engine.Spec
	var feeds []*tensor.Tensor
	for _, v := range values {
		spec.Fetches = append(spec.Fetches, v.Output)
	}
	for i, name := range f.names {
		spec.Feeds = append(spec.Feeds, f.graph.Node(name).Out(0))
		feeds = append(feeds, toTensor(f.feeds[i], spec.Feeds[i].DType()))
	}
	prog, err := engine.Compile(f.graph, spec, dev, vars, engine.Options{Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	if err := prog.Run(context.Background(), 1, feeds); err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		got, _ := asFloats(prog.Value(i))
		requireNear(t, "engine: "+v.String(), got, f.eval(v.Output).v, tol)
	}
}

// toTensor converts an array to float32 or float64.
func toTensor(a array, d tensor.DType) *tensor.Tensor {
	t := tensor.New(d, a.shape...)
	for i, x := range a.v {
		if d == tensor.Float32 {
			tensor.Values[float32](t)[i] = float32(x)
		} else {
			tensor.Values[float64](t)[i] = x
		}
	}
	return t
}

// TestBuiltinsFloat32 lowers every case in float32 and runs it on the engine.
func TestBuiltinsFloat32(t *testing.T) {
	for _, c := range opCases {
		t.Run(c.name, func(t *testing.T) {
			c.dtype = gtensor.Float32
			f := c.fixture(t, rand.New(rand.NewPCG(1, 2)))
			for _, x := range f.feeds {
				for i, v := range x.v {
					x.v[i] = float64(float32(v))
				}
			}
			f.engine(t, f.lowered(t), 1e-4)
		})
	}
}
