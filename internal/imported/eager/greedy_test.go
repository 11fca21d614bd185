package eager

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// Limits of TestGreedy.
const (
	greedyLimit = 2 << 20 // bytes that a session may hold
	greedySlack = 8 << 20 // bytes that a node may allocate, including what the test itself allocates
	greedyCases = 2       // recorded cases per op
)

// greedyNumbers replace sizes, counts, indices and axes of recorded cases.
var greedyNumbers = []int64{1 << 20, 1 << 28, math.MaxInt32, 1 << 62}

// greedySource is a recorded node. Its inputs are made anew for each run, since nodes change variables.
type greedySource struct {
	name   string
	node   *graph.Node
	inputs func(env *Env) []Value // nil if an earlier step failed
	kept   bool                   // the op may wait for other nodes
}

// context returns the node's context, which is canceled if the op may wait forever.
func (s greedySource) context(t *testing.T) context.Context {
	if !s.kept {
		return t.Context()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// greedySources returns nodes for all ops with recorded cases, and handmade ones.
func greedySources(t testing.TB) (all []greedySource) {
	single := slices.Concat(readGolden(t), readCases[goldenCase](t, "testdata/edges.json.gz"))
	var sequences []goldenSequence
	for _, file := range []string{"sequences", "updates", "families", "signals", "texts"} {
		sequences = append(sequences, readCases[goldenSequence](t, "testdata/"+file+".json.gz")...)
	}
	for _, c := range readCases[goldenDraw](t, "testdata/random.json.gz") {
		if c.Steps == nil {
			single = append(single, c.goldenCase)
		} else {
			sequences = append(sequences, goldenSequence{Name: c.Name, Steps: c.Steps})
		}
	}
	seen := map[string]int{}
	for _, c := range single {
		if seen[c.Op]++; seen[c.Op] > greedyCases {
			continue
		}
		n, in := c.node(t)
		all = append(all, greedySource{name: c.Op + " " + c.Name, node: n, inputs: func(*Env) []Value { return in }})
	}
	for _, c := range sequences {
		for k, s := range c.Steps {
			if seen[s.Op]++; seen[s.Op] <= greedyCases {
				all = append(all, greedySource{name: s.Op + " " + c.Name, node: s.node(t), inputs: func(env *Env) []Value { return c.before(t, env, k) }})
			}
		}
	}
	return append(all, handmades(t)...)
}

// node returns the node of a step.
func (s goldenStep) node(t testing.TB) *graph.Node {
	n := &graph.Node{Name: s.Node, Op: s.Op, Attrs: graph.Attrs{}}
	for name, a := range s.Attrs {
		n.Attrs[name] = a.value(t)
	}
	return n
}

// before runs the steps before step k and returns its inputs.
func (c goldenSequence) before(t testing.TB, env *Env, k int) []Value {
	var done [][]Value
	for at, s := range c.Steps[:k+1] {
		var in []Value
		for _, x := range s.Inputs {
			if x.Tensor != nil {
				in = append(in, Value{T: x.Tensor.tensor()})
			} else {
				in = append(in, done[x.Step][x.Output])
			}
		}
		if at == k {
			return in
		}
		out, err := Run(context.Background(), s.node(t), in, env)
		if err != nil {
			return nil
		}
		done = append(done, out)
	}
	return nil
}

// greedyChange changes a node or its inputs, or both, to ask for more memory.
type greedyChange struct {
	what   string
	change func(n *graph.Node, in []Value)
}

// greedyChanges returns changes for a node with such inputs.
func greedyChanges(n *graph.Node, in []Value) (all []greedyChange) {
	add := func(change func(n *graph.Node, in []Value), what string, args ...any) {
		all = append(all, greedyChange{fmt.Sprintf(what, args...), change})
	}
	for _, big := range greedyNumbers {
		for i, v := range in {
			if v.T == nil || v.T.Len() == 0 || v.T.DType != tensor.Int32 && v.T.DType != tensor.Int64 && v.T.DType != tensor.Float32 {
				continue
			}
			last := v.T.Len() - 1
			for _, at := range slices.Compact([][2]int{{0, 0}, {last / 2, last / 2}, {last, last}, {0, last}}) {
				add(func(_ *graph.Node, in []Value) { in[i].T = withNumber(in[i].T, at[0], at[1], big) }, "input %d is %d from %d to %d", i, big, at[0], at[1])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
			if a := withBig(n.Attrs[name], big); a != nil {
				add(func(n *graph.Node, _ []Value) { n.Attrs[name] = a }, "%s is %v", name, a)
			}
		}
	}
	for i, v := range in {
		if v.T == nil {
			continue
		}
		for _, shape := range [][]int{{4096}, {4096, 1}, {1, 4096}} {
			add(func(_ *graph.Node, in []Value) { in[i].T = resized(in[i].T, in[i].T.DType, shape) }, "input %d has shape %v", i, shape)
			for k := range in[:i*(len(shape)-1)/max(len(shape)-1, 1)] {
				if in[k].T != nil {
					add(func(_ *graph.Node, in []Value) {
						in[i].T, in[k].T = resized(in[i].T, in[i].T.DType, shape), resized(in[k].T, in[k].T.DType, []int{shape[len(shape)-1], shape[0]})
					}, "input %d has shape %v, and %d its reverse", i, shape, k)
				}
			}
		}
	}
	return all
}

// withBig returns an attribute with a large number in it, or nil if it has no numbers.
func withBig(a any, big int64) any {
	switch v := a.(type) {
	case int64:
		return big
	case []int64:
		if len(v) > 0 {
			v = slices.Clone(v)
			v[len(v)/2] = big
			return v
		}
	case graph.Shape:
		if len(v.Dims) > 0 {
			v = graph.Shape{Dims: slices.Clone(v.Dims)}
			v.Dims[0] = graph.ShapeOf(int(big)).Dims[0]
			return v
		}
	}
	return nil
}

// withNumber returns a copy of a tensor with some elements replaced by a large number.
func withNumber(t *tensor.Tensor, from, to int, big int64) *tensor.Tensor {
	out := t.Clone()
	for i := from; i <= to; i++ {
		switch t.DType {
		case tensor.Int32:
			tensor.Values[int32](out)[i] = int32(min(big, math.MaxInt32))
		case tensor.Int64:
			tensor.Values[int64](out)[i] = big
		default:
			tensor.Values[float32](out)[i] = float32(big)
		}
	}
	return out
}

// TestGreedy: an op pays for its memory before allocating it, whatever sizes its inputs and attributes ask for. It does not run forever:
// a node that does ends the test by its time limit, and the log says which.
func TestGreedy(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: thousands of nodes (-short)")
	}
	memory := budget.NewServer(budget.Limits{Server: 1 << 40, Request: greedyLimit})
	defer memory.Close()
	for _, s := range greedySources(t) {
		first := s.inputs(&Env{Resources: NewResources()})
		for _, g := range greedyChanges(s.node, first) {
			env := &Env{Resources: NewResources(), Payer: Payer{Account: memory.OpenLasting(), Lasting: true}}
			n := &graph.Node{Name: s.node.Name, Op: s.node.Op, Attrs: maps.Clone(s.node.Attrs)}
			in := slices.Clone(s.inputs(env))
			if in == nil && first != nil {
				t.Fatalf("%s: the steps before fail", s.name)
			}
			g.change(n, in)
			slow := time.AfterFunc(10*time.Second, func() { t.Logf("%s, %s: still runs", s.name, g.what) })
			before := allocated()
			_, err := Run(s.context(t), n, in, env)
			if grew := allocated() - before; grew > greedySlack {
				t.Errorf("%s, %s: %d MiB were allocated, %v", s.name, g.what, grew>>20, err)
			}
			slow.Stop()
		}
	}
}

// allocated returns how many bytes the process has allocated since it started.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
