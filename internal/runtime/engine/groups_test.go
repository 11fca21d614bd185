package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// severalProcs makes parallel groups run on several threads even on a smaller machine.
func severalProcs(t testing.TB) {
	old := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// branches are independent towers of small products over one input, with updates of their weights and biases.
type branches struct {
	*graph.Builder
	x     graph.Output
	spec  Spec
	names []string
}

const branchWidth = 32

func newBranches(n int) *branches {
	b := &branches{Builder: graph.NewBuilder(graph.New())}
	rows, square := batchType(tensor.Float32, branchWidth), fixedType(tensor.Float32, branchWidth, branchWidth)
	b.x = b.Placeholder("x", rows)
	var sum []graph.Output
	for i := range n {
		name := fmt.Sprint("w", i)
		v := b.Variable(name, square)
		b.names = append(b.names, name)
		y := b.Op("Tanh", name+"/tanh", rows, nil, b.Op("MatMul", name+"/y", rows, nil, b.x, b.Read(v, square)))
		grad := b.Op("MatMul", name+"/grad", square, graph.Attrs{"transpose_a": true}, b.x, y)
		b.spec.Targets = append(b.spec.Targets, b.Node("ResourceApplyGradientDescent", name+"/apply", nil, nil, v, b.Scalar(name+"/rate", tensor.Float32, 1e-3), grad))
		sum = append(sum, y)
	}
	b.spec.Feeds, b.spec.Fetches = []graph.Output{b.x}, []graph.Output{b.Op("AddN", "sum", rows, nil, sum...)}
	return b
}

func (b *branches) variables(dev device.Device) *Variables {
	vars, r := ok(NewVariables(dev)), rand.New(rand.NewPCG(1, 1))
	for _, name := range b.names {
		w := tensor.New(tensor.Float32, branchWidth, branchWidth)
		fillRandom(r, w, 0.1)
		if err := vars.Create(name, w); err != nil {
			panic(err)
		}
	}
	return vars
}

func branchRows(n int) []*tensor.Tensor {
	x := tensor.New(tensor.Float32, n, branchWidth)
	fillRandom(rand.New(rand.NewPCG(2, 2)), x, 1)
	return []*tensor.Tensor{x}
}

// checkGroups checks that each step runs once, after the steps it needs, and that steps without writes come after the first
// write only if they must.
func checkGroups(t interface{ Fatalf(string, ...any) }, p *Program) (largest int) {
	done, wrote := map[*step]bool{}, false
	for _, group := range p.allGroups() {
		for _, s := range group {
			if done[s] {
				t.Fatalf("node %s runs twice", s.op.node.Name)
			}
			for _, n := range s.needs {
				if !done[n] {
					t.Fatalf("node %s runs before %s, which it needs", s.op.node.Name, n.op.node.Name)
				}
			}
			if !wrote && len(s.op.write) == 0 && len(group[0].op.write) > 0 {
				t.Fatalf("node %s runs with the first update", s.op.node.Name)
			}
		}
		for _, s := range group {
			done[s] = true
			wrote = wrote || len(s.op.write) > 0
		}
		largest = max(largest, len(group))
	}
	if len(done) != len(p.byFrequency[perRun]) {
		t.Fatalf("%d of %d steps run", len(done), len(p.byFrequency[perRun]))
	}
	return largest
}

// TestConcurrentEqualsSequential compares, bit by bit, programs whose steps run at the same time wherever they can with
// programs whose steps run one by one.
func TestConcurrentEqualsSequential(t *testing.T) {
	severalProcs(t)
	dev := device.NewHost()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		var fetches []graph.Output
		for i := range rapid.IntRange(1, 4).Draw(t, "updates") { // of two variables, ordered or not
			handle := g.Variable(fmt.Sprint("u", i%2), fixedType(tensor.Float32, 4))
			v := rapid.SampledFrom(g.values).Draw(t, "updated by")
			delta := g.Op("Sum", fmt.Sprint("delta", i), fixedType(tensor.Float32, 4), nil, v, g.Const(fmt.Sprint("axis", i), dense([]int32{0}, 1)))
			g.targets = append(g.targets, g.Node("AssignAddVariableOp", fmt.Sprint("update", i), nil, nil, handle, delta))
			fetches = append(fetches, v, g.values[len(g.values)-1])
		}
		rows := rapid.IntRange(1, 6).Draw(t, "rows")
		x := drawRows(t, rows)
		var results [2][][]byte
		for i, o := range []Options{{Profile: true}, {groupAll: true}} {
			o.Capacity = rapid.IntRange(1, 9).Draw(t, "capacity")
			if rapid.Bool().Draw(t, "phases") {
				o.OnFetch = func(int) {}
			}
			vars := ok(NewVariables(dev))
			for _, name := range []string{"v", "u0", "u1"} {
				if err := vars.Create(name, dense([]float32{.1, .2, -.3, .4}, 4)); err != nil {
					t.Fatal(err)
				}
			}
			p := ok(Compile(g.Graph, Spec{Feeds: []graph.Output{g.x}, Fetches: fetches, Targets: g.targets}, dev, vars, o))
			checkGroups(t, p)
			for range 3 {
				if err := p.Run(bg, rows, []*tensor.Tensor{x}); err != nil {
					t.Fatal(err)
				}
				for f := range fetches {
					results[i] = append(results[i], bytes.Clone(p.Value(f).Bytes))
				}
			}
			for _, name := range []string{"v", "u0", "u1"} {
				results[i] = append(results[i], ok(vars.Get(name)).Bytes)
			}
		}
		if !slices.EqualFunc(results[0], results[1], bytes.Equal) {
			t.Fatalf("one by one %v, at the same time %v", results[0], results[1])
		}
	})
}

// TestBranchesRunTogether checks that parallel groups form where they pay, give the results of single steps, and allocate nothing.
func TestBranchesRunTogether(t *testing.T) {
	severalProcs(t)
	onGoDevices(t, func(t *testing.T, dev device.Device) {
		b, feeds := newBranches(12), branchRows(16)
		var sums [2][]byte
		for i, profile := range []bool{true, false} {
			p := ok(Compile(b.Graph, b.spec, dev, b.variables(dev), Options{Capacity: 16, Profile: profile}))
			if largest := checkGroups(t, p); (largest > 1) == profile {
				t.Errorf("profile %v: groups of up to %d", profile, largest)
			}
			step := func() {
				if err := p.Run(bg, 16, feeds); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 {
				step()
			}
			if n := testing.AllocsPerRun(20, step); n != 0 && !profile {
				t.Errorf("expected 0 allocations, got %v", n)
			}
			sums[i] = bytes.Clone(p.Value(0).Bytes)
		}
		if !bytes.Equal(sums[0], sums[1]) {
			t.Error("steps at the same time give another result than one by one")
		}
	})
}

// TestTeamsFail checks which of several errors is reported, that panics are errors, and that variables do not change.
func TestTeamsFail(t *testing.T) {
	severalProcs(t)
	dev := device.NewHost()
	b := newBranches(6)
	vars := b.variables(dev)
	before := ok(vars.Get("w3"))
	p := ok(Compile(b.Graph, b.spec, dev, vars, Options{Capacity: 4, groupAll: true}))
	byName := map[string]*step{}
	for _, s := range p.steps {
		byName[s.op.node.Name] = s
	}
	first, second := byName["w2/y"], byName["w4/y"]
	runs := []runFunc{first.compute, second.compute}
	wrong := errors.New("wrong")
	first.compute = func() error { panic("boom") }
	second.compute = func() error { return wrong }
	var e *PanicError
	if err := p.Run(bg, 4, branchRows(4)); !errors.As(err, &e) || e.Node != "w2/y" || len(e.Stack) == 0 || errors.Is(err, wrong) {
		t.Errorf("expected the panic of w2/y, got %v", err)
	}
	first.compute = runs[0]
	if err := p.Run(bg, 4, branchRows(4)); !errors.Is(err, wrong) {
		t.Errorf("expected the error of w4/y, got %v", err)
	}
	ctx, cancel := context.WithCancel(bg)
	second.compute = func() error { cancel(); return runs[1]() }
	if err := p.Run(ctx, 4, branchRows(4)); !errors.Is(err, context.Canceled) {
		t.Errorf("expected a cancelled run, got %v", err)
	}
	if !bytes.Equal(before.Bytes, ok(vars.Get("w3")).Bytes) {
		t.Error("a failed run changed a variable")
	}
	second.compute = runs[1]
	if err := p.Run(bg, 4, branchRows(4)); err != nil {
		t.Error(err)
	}
}

// BenchmarkBranches is a step of independent small branches, one by one and at the same time.
func BenchmarkBranches(b *testing.B) {
	for _, n := range []int{4, 16} {
		for _, way := range []string{"single", "groups"} {
			b.Run(fmt.Sprint(n, way), func(b *testing.B) {
				dev := device.NewHost()
				g, feeds := newBranches(n), branchRows(16)
				p := ok(Compile(g.Graph, g.spec, dev, g.variables(dev), Options{Capacity: 16}))
				if way == "single" {
					for i := range p.phases {
						p.phases[i].groups = singly(p.byFrequency[perRun])
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := p.Run(bg, 16, feeds); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
