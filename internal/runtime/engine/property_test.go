package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// randomGraph is a graph whose values are [B,4]: every row is computed only from the same row of x.
type randomGraph struct {
	*graph.Builder
	x       graph.Output
	values  []graph.Output
	handle  graph.Output
	targets []*graph.Node
}

var rowType = batchType(tensor.Float32, 4)

func drawGraph(t *rapid.T) *randomGraph {
	g := &randomGraph{Builder: graph.NewBuilder(graph.New())}
	g.x = g.Placeholder("x", rowType)
	g.handle = g.Variable("v", fixedType(tensor.Float32, 4))
	square := g.Const("square", dense([]float32{1, 0, .5, 0, 0, -1, 0, 0, .25, 0, 1, 0, 0, 0, 0, 1}, 4, 4))
	bias := g.Read(g.handle, fixedType(tensor.Float32, 4))
	g.values = []graph.Output{g.x}
	for i := range rapid.IntRange(1, 25).Draw(t, "nodes") {
		pick := func() graph.Output { return rapid.SampledFrom(g.values).Draw(t, "value") }
		name := fmt.Sprint("n", i)
		one := func(op string) graph.Output { return g.Op(op, name, rowType, nil, pick()) }
		var v graph.Output
		switch rapid.IntRange(0, 14).Draw(t, "op") {
		case 0:
			v = one("Relu")
		case 1:
			v = one("Tanh")
		case 2:
			v = one("Identity")
		case 3:
			v = g.Op("Add", name, rowType, nil, pick(), pick())
		case 4:
			v = g.Op("Sub", name, rowType, nil, pick(), pick())
		case 5:
			flat := g.Op("Reshape", name+"/flat", graph.Type{DType: tensor.Float32, Shape: sh("4B")}, nil, pick(), g.Const(name+"/s", dense([]int32{-1}, 1)))
			v = g.Op("Reshape", name, rowType, nil, g.Op("Neg", name+"/neg", flat.Type(), nil, flat), g.Const(name+"/s2", dense([]int32{-1, 4}, 2)))
		case 6:
			v = g.Op("MatMul", name, rowType, nil, pick(), square)
		case 7:
			v = g.Op("BiasAdd", name, rowType, nil, pick(), bias)
		case 8:
			m := g.Op("Max", name+"/max", batchType(tensor.Float32, 1), graph.Attrs{"keep_dims": true}, pick(), g.Const(name+"/axis", dense([]int32{1}, 1)))
			v = g.Op("Sub", name, rowType, nil, pick(), m)
		case 9:
			v = one("Softmax")
		case 10:
			v = g.Op("AddN", name, rowType, nil, pick(), pick(), pick(), pick())
		case 12:
			v = g.Op("Mul", name, rowType, nil, g.Scalar(name+"/k", tensor.Float32, 1.25), pick())
		case 13:
			v = g.Op("ReluGrad", name, rowType, nil, pick(), pick())
		case 14:
			v = g.Op("Maximum", name, rowType, nil, pick(), g.Op("Mean", name+"/mean", fixedType(tensor.Float32), nil, bias, g.Const(name+"/axis", dense([]int32{0}, 1))))
		case 11:
			c := g.Op("Less", name+"/less", batchType(tensor.Bool, 4), nil, pick(), pick())
			v = g.Op("SelectV2", name, rowType, nil, c, pick(), pick())
		}
		g.values = append(g.values, v)
	}
	delta := g.Op("Mean", "delta", fixedType(tensor.Float32, 4), nil, g.values[len(g.values)-1], g.Const("rows", dense([]int32{0}, 1)))
	g.targets = []*graph.Node{g.Node("AssignAddVariableOp", "assign", nil, nil, g.handle, delta)}
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	return g
}

// run returns the fetched values of one run on fresh variables, and the variable after it.
func (g *randomGraph) run(t *rapid.T, dev device.Device, fetches []graph.Output, capacity int, x *tensor.Tensor) ([]*tensor.Tensor, *tensor.Tensor) {
	vars := ok(NewVariables(dev))
	if err := vars.Create("v", dense([]float32{.1, .2, -.3, .4}, 4)); err != nil {
		t.Fatal(err)
	}
	p, err := Compile(g.Graph, Spec{Feeds: []graph.Output{g.x}, Fetches: fetches, Targets: g.targets}, dev, vars, Options{Capacity: capacity})
	if err == nil {
		err = p.Run(bg, x.Shape[0], []*tensor.Tensor{x})
	}
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*tensor.Tensor, len(fetches))
	for i := range out {
		out[i] = p.Value(i).Clone()
	}
	return out, ok(vars.Get("v"))
}

// TestRefusedReserve: a program whose larger plan is refused keeps its plan, and computes the same results.
func TestRefusedReserve(t *testing.T) {
	onDevices(t, func(t *testing.T, dev device.Device) {
		rapid.Check(t, func(t *rapid.T) {
			g := drawGraph(t)
			capacity := rapid.IntRange(1, 6).Draw(t, "capacity")
			batches := []*tensor.Tensor{drawRows(t, capacity), drawRows(t, 1), drawRows(t, capacity), drawRows(t, capacity+1)}
			want, wantVar := g.refused(t, dev, capacity, batches, 0)
			got, gotVar := g.refused(t, dev, capacity, batches, rapid.IntRange(1, 50).Draw(t, "more"))
			for i, w := range want {
				if !bytes.Equal(w.Bytes, got[i].Bytes) {
					t.Fatalf("result %d: got %v, expected %v", i, toND(got[i]).data, toND(w).data)
				}
			}
			if !bytes.Equal(gotVar.Bytes, wantVar.Bytes) {
				t.Fatalf("variable: got %v, expected %v", toND(gotVar).data, toND(wantVar).data)
			}
		})
	})
}

// refused runs batches. Before each it tries to reserve more rows than there is room for, which is refused. It returns the
// last values and the variable.
func (g *randomGraph) refused(t *rapid.T, dev device.Device, capacity int, batches []*tensor.Tensor, more int) (all []*tensor.Tensor, v *tensor.Tensor) {
	vars := ok(NewVariables(dev))
	if err := vars.Create("v", dense([]float32{.1, .2, -.3, .4}, 4)); err != nil {
		t.Fatal(err)
	}
	last := g.values[len(g.values)-1]
	p := ok(Compile(g.Graph, Spec{Feeds: []graph.Output{g.x}, Fetches: []graph.Output{last}, Targets: g.targets}, dev, vars, Options{Capacity: capacity}))
	no := errors.New("no")
	_, accelerated := dev.(Accelerator)
	for _, x := range batches {
		if had, held := p.Capacity(), p.Memory(); more > 0 {
			err := p.Reserve(had+more, func(int) error { return no })
			if !errors.Is(err, no) || !accelerated && p.Capacity() != had || p.Memory() != held {
				t.Fatalf("%v: room for %d rows in %d bytes, there was room for %d in %d", err, p.Capacity(), p.Memory(), had, held)
			}
		}
		if err := p.Run(bg, x.Shape[0], []*tensor.Tensor{x}); err != nil {
			t.Fatal(err)
		}
		all = append(all, p.Value(0).Clone())
	}
	return all, ok(vars.Get("v"))
}

func drawRows(t *rapid.T, n int) *tensor.Tensor {
	x := tensor.New(tensor.Float32, n, 4)
	fillRandom(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), x, 1)
	return x
}

// TestPlannedEqualsUnplanned compares a program whose values share memory by their lifetimes with one in which every
// value is fetched, and so has memory of its own.
func TestPlannedEqualsUnplanned(t *testing.T) {
	dev := device.NewHost()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		rows := rapid.IntRange(1, 6).Draw(t, "rows")
		x := drawRows(t, rows)
		var some []graph.Output
		var which []int
		for i, v := range g.values {
			if i == len(g.values)-1 || rapid.IntRange(0, 5).Draw(t, "fetch") == 0 {
				some, which = append(some, v), append(which, i)
			}
		}
		planned, v1 := g.run(t, dev, some, rapid.IntRange(1, 9).Draw(t, "capacity"), x)
		all, v2 := g.run(t, dev, g.values, rows, x)
		for i, p := range planned {
			if !bytes.Equal(p.Bytes, all[which[i]].Bytes) {
				t.Fatalf("%v: planned %v, unplanned %v", some[i], toND(p).data, toND(all[which[i]]).data)
			}
		}
		if !bytes.Equal(v1.Bytes, v2.Bytes) {
			t.Fatalf("variable: planned %v, unplanned %v", toND(v1).data, toND(v2).data)
		}
	})
}

// TestRowsAreIndependent checks that a row gives the same results alone and within a larger batch.
func TestRowsAreIndependent(t *testing.T) {
	dev := device.NewHost()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		total := rapid.IntRange(2, 40).Draw(t, "total")
		rows := rapid.IntRange(1, total-1).Draw(t, "rows")
		x := drawRows(t, total)
		last := g.values[len(g.values)-1:]
		whole, _ := g.run(t, dev, last, total, x)
		part, _ := g.run(t, dev, last, total, dense(tensor.Values[float32](x)[:4*rows], rows, 4))
		if !bytes.Equal(part[0].Bytes, whole[0].Bytes[:16*rows]) {
			t.Fatalf("%d of %d rows: got %v, within the batch %v", rows, total, toND(part[0]).data, toND(whole[0]).data[:4*rows])
		}
	})
}

// TestPlacementDoesNotOverlap checks the arena of random lifetimes.
func TestPlacementDoesNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roots := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *value {
			def := rapid.IntRange(-1, 20).Draw(t, "def")
			return &value{def: def, last: def + rapid.IntRange(0, 10).Draw(t, "life"), size: rapid.IntRange(0, 500).Draw(t, "size")}
		}), 0, 30).Draw(t, "roots")
		total := place(roots, device.Alignment)
		for i, a := range roots {
			if a.off%device.Alignment != 0 || a.off+a.size > total {
				t.Fatalf("[%d,%d) in an arena of %d", a.off, a.off+a.size, total)
			}
			for _, b := range roots[:i] {
				if a.def <= b.last && b.def <= a.last && a.off < b.off+b.size && b.off < a.off+a.size {
					t.Fatalf("overlap: %+v and %+v", a, b)
				}
			}
		}
	})
}
