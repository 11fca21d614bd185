package engine

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

var updatedType = fixedType(tensor.Float32, 3)

// updatesGraph is a random graph of updates of the variables a, b and c; some updates are undone.
type updatesGraph struct {
	*rapid.T
	b       *graph.Builder
	x       graph.Output   // a scalar, fed
	values  []graph.Output // of updatedType
	chosen  []graph.Output // values assigned to undo updates
	targets []*graph.Node
	last    map[string]*graph.Node // update of each variable: all others wait for it
}

func drawUpdates(t *rapid.T) *updatesGraph {
	b := graph.NewBuilder(graph.New())
	g := &updatesGraph{T: t, b: b, x: b.Placeholder("x", scalarType), last: map[string]*graph.Node{}}
	g.values = []graph.Output{b.Const("one", ok(tensor.FromSlice([]float32{1, 2, -3}, 3)))}
	for range rapid.IntRange(2, 9).Draw(t, "ops") {
		g.add()
	}
	for range rapid.IntRange(1, 4).Draw(t, "undone") {
		g.undo(g.drawName())
		if rapid.IntRange(0, 9).Draw(t, "more") == 0 {
			g.add()
		}
	}
	return g
}

func (g *updatesGraph) drawName() string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(g.T, "name")
}

func (g *updatesGraph) drawValue() graph.Output {
	return rapid.SampledFrom(g.values).Draw(g.T, "value")
}

func (g *updatesGraph) drawAfter() (some []*graph.Node) {
	for _, n := range g.targets {
		if rapid.IntRange(0, 2).Draw(g.T, "after") == 0 {
			some = append(some, n)
		}
	}
	return some
}

func (g *updatesGraph) read(name string, after ...*graph.Node) graph.Output {
	return g.b.Read(g.b.Variable(name, updatedType), updatedType, after...)
}

// add adds a read, an update, or arithmetic.
func (g *updatesGraph) add() {
	name := g.drawName()
	v := g.b.Variable(name, updatedType)
	switch op := rapid.SampledFrom([]string{"", "Sub", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatterAdd", "ResourceApplyMomentum"}).Draw(g.T, "op"); op {
	case "":
		g.values = append(g.values, g.read(name, g.drawAfter()...))
	case "Sub":
		g.values = append(g.values, g.b.Op(op, op, updatedType, nil, g.drawValue(), g.drawValue()))
	case "ResourceScatterAdd":
		g.update(op, []string{name}, v, g.b.Const("ids", ok(tensor.FromSlice([]int64{2, 0, 2}, 3))), g.drawValue())
	case "ResourceApplyMomentum":
		other := string("abc"[(name[0]-'a'+1)%3])
		half := g.b.Scalar("half", tensor.Float32, 0.5)
		g.update(op, []string{name, other}, v, g.b.Variable(other, updatedType), half, g.drawValue(), half)
	default:
		g.update(op, []string{name}, v, g.drawValue())
	}
}

func (g *updatesGraph) update(op string, names []string, in ...graph.Output) {
	n := g.b.Node(op, op, nil, graph.Attrs{"dtype": tensor.Float32}, in...)
	n.Control = g.drawAfter()
	for _, name := range names {
		if w := g.last[name]; w != nil {
			n.Control = append(n.Control, w)
		}
		g.last[name] = n
	}
	g.targets = append(g.targets, n)
}

// undo undoes all updates of a variable under one of a few conditions.
func (g *updatesGraph) undo(name string) {
	x := g.x
	switch rapid.IntRange(0, 5).Draw(g.T, "condition") {
	case 0:
		x = g.b.Op("Neg", "neg", scalarType, nil, x)
	case 1:
		axis := g.b.Const("axis", ok(tensor.FromSlice([]int32{0}, 1)))
		x = g.b.Op("Sum", "sum", scalarType, graph.Attrs{"Tidx": tensor.Int32}, g.drawValue(), axis)
	}
	keep := g.b.Op("Greater", "keep", fixedType(tensor.Bool), nil, x, g.b.Scalar("zero", tensor.Float32, 0))
	to := g.b.Op("SelectV2", "choose", updatedType, nil, keep, g.read(name, slices.Clone(g.targets)...), g.read(name))
	n := g.b.Node("AssignVariableOp", "undo", nil, graph.Attrs{"dtype": tensor.Float32}, g.b.Variable(name, updatedType), to)
	g.chosen, g.targets, g.last[name] = append(g.chosen, to), append(g.targets, n), n
}

// run runs the graph three times. It returns the first fetches and the variables after each run, and whether updates were
// guarded, or an error if the graph cannot be compiled.
func (g *updatesGraph) run(dev device.Device, fetches []graph.Output, first int) (results []*tensor.Tensor, found bool, err error) {
	must := func(err error) {
		if err != nil {
			g.Fatal(err)
		}
	}
	must(g.b.Err())
	vars := ok(NewVariables(dev))
	for i, name := range []string{"a", "b", "c"} {
		must(vars.Create(name, ok(tensor.FromSlice([]float32{1, 2, float32(i)}, 3))))
	}
	p, err := Compile(g.b.Graph, Spec{Feeds: []graph.Output{g.x}, Fetches: fetches, Targets: g.targets}, dev, vars, Options{})
	if err != nil {
		return nil, false, errors.Join(err, vars.Close())
	}
	for _, x := range []float32{1, -1, 1} {
		must(p.Run(bg, 1, []*tensor.Tensor{tensor.Scalar(x)}))
		for i := range first {
			results = append(results, p.Value(i).Clone())
		}
		for _, name := range vars.Names() {
			results = append(results, ok(vars.Get(name)))
		}
	}
	found = slices.ContainsFunc(p.ops, func(o *op) bool { return o.guarded })
	must(p.Close())
	must(vars.Close())
	return results, found, nil
}

// TestGuardedEqualsTakenBack compares programs with ones in which nothing can be guarded, because the undoing values are fetched.
func TestGuardedEqualsTakenBack(t *testing.T) {
	host := device.NewHost()
	devices := append(splitTwins(), host)
	rapid.Check(t, func(t *rapid.T) {
		g := drawUpdates(t)
		var some []graph.Output
		for _, v := range g.values {
			if rapid.IntRange(0, 9).Draw(t, "fetch") == 0 {
				some = append(some, v)
			}
		}
		want, found, err := g.run(host, slices.Concat(some, g.chosen), len(some))
		if err != nil {
			t.Skip(err) // two reads, each after the update that the other must precede
		}
		if found {
			t.Fatal("an update whose result is fetched before it is taken back is guarded")
		}
		for _, dev := range devices {
			got, found, err := g.run(dev, some, len(some))
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if !bytes.Equal(got[i].Bytes, want[i].Bytes) {
					t.Fatalf("%s: guarded=%v: result %d: got %v, expected %v", dev.Kind(), found, i, tensor.Values[float32](got[i]), tensor.Values[float32](want[i]))
				}
			}
		}
	})
	for _, dev := range devices {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDrawnUpdatesAreGuarded checks that some graphs drawn for TestGuardedEqualsTakenBack have guarded updates.
func TestDrawnUpdatesAreGuarded(t *testing.T) {
	host := device.NewHost()
	defer host.Close()
	guarded := rapid.Custom(func(t *rapid.T) bool {
		_, found, err := drawUpdates(t).run(host, nil, 0)
		return err == nil && found
	})
	n := 0
	for seed := range 100 {
		if guarded.Example(seed) {
			n++
		}
	}
	if n < 5 {
		t.Errorf("%d of 100 programs have guarded updates, expected 5 or more", n)
	}
}
