package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// lookupGraph sums weighted rows of a table [9,2] by ragged ids, as ops.LookupSparse does, and gives every value its
// example's sum: ids [3B], offsets, weights [3B] and the table are fed.
func lookupGraph(t *testing.T) (g *graph.Graph, feeds []graph.Output, rows, sum, back graph.Output) {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	place := func(name string, d tensor.DType, dims ...graph.Dim) graph.Output {
		feeds = append(feeds, b.Placeholder(name, graph.Type{DType: d, Shape: graph.Shape{Dims: dims}}))
		return feeds[len(feeds)-1]
	}
	n, one, two := graph.Dim{PerBatch: 3}, graph.Fixed(1), graph.Fixed(2)
	ids, offsets := place("ids", tensor.Int64, n), place("offsets", tensor.Int64, graph.Dim{PerBatch: 1, Const: 1})
	weights, table := place("weights", tensor.Float32, n, one), place("table", tensor.Float32, graph.Fixed(9), two)
	flat := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{n, two}}}
	at := b.Op("Maximum", "at", ids.Type(), nil, ids, b.Scalar("zero", tensor.Int64, 0))
	rows = b.Op("GatherV2", "rows", flat, nil, table, at, b.Scalar("axis", tensor.Int32, 0))
	weighted := b.Op("Mul", "weighted", flat, nil, rows, weights)
	numbers := lower.RowNumbers(b, "numbers", ids, offsets)
	sum = b.Op("UnsortedSegmentSum", "sum", graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Batch, two}}}, nil,
		weighted, numbers, b.Scalar("count", tensor.Int32, 1))
	back = lower.GatherPadded(b, "back", sum, numbers)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	return b.Graph, feeds, rows, sum, back
}

func opNames(p *Program) []string {
	var out []string
	for _, s := range p.steps {
		out = append(out, s.op.node.Op)
	}
	return out
}

func TestRaggedLookupsAreFused(t *testing.T) {
	g, feeds, rows, sum, back := lookupGraph(t)
	values := []*tensor.Tensor{ok(tensor.FromSlice([]int64{3, -1, 8, 3, 0, -1}, 6)), ok(tensor.FromSlice([]int64{0, 4, 5}, 3)),
		ok(tensor.FromSlice([]float32{1, 5, 2, 3, 0.5, 9}, 6, 1)), tensor.New(tensor.Float32, 9, 2)}
	for i := range tensor.Values[float32](values[3]) {
		tensor.Values[float32](values[3])[i] = float32(i)
	}
	wantSum := []float32{1*6 + 2*16 + 3*6, 1*7 + 2*17 + 3*7, 0, 0.5}
	wantBack := []float32{56, 62, 0, 0, 56, 62, 56, 62, 0, 0.5, 0, 0}
	onDevices(t, func(t *testing.T, dev device.Device) {
		vars := ok(NewVariables(dev))
		for _, c := range []struct {
			fetches []graph.Output
			want    []string // ops
		}{
			{[]graph.Output{sum}, []string{"_RaggedCombine"}},
			{[]graph.Output{sum, back}, []string{"_RaggedCombine", "_RaggedSpread"}},
			{[]graph.Output{sum, back, rows}, []string{"GatherV2", "Maximum", "_RaggedCombine", "_RaggedSpread"}},
		} {
			p := ok(Compile(g, Spec{Feeds: feeds, Fetches: c.fetches}, dev, vars, Options{}))
			got := opNames(p)
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%d fetches: ops %v, expected %v", len(c.fetches), got, c.want)
			}
			if err := p.Run(t.Context(), 2, values); err != nil {
				t.Fatal(err)
			}
			if s := tensor.Values[float32](p.Value(0)); !slices.Equal(s, wantSum) {
				t.Errorf("sum %v, expected %v", s, wantSum)
			}
			if len(c.fetches) > 1 && !slices.Equal(tensor.Values[float32](p.Value(1)), wantBack) {
				t.Errorf("back %v, expected %v", tensor.Values[float32](p.Value(1)), wantBack)
			}
			bad := slices.Clone(values)
			bad[0] = ok(tensor.FromSlice([]int64{3, 1, 9, 12, 0, -1}, 6))
			var index *IndexError
			if err := p.Run(t.Context(), 2, bad); !errors.As(err, &index) || index.Index != 9 || index.Position != 2 {
				t.Errorf("an id that is no row: got %v", err)
			}
			for _, offsets := range [][]int64{{0, 4, 7}, {0, 4, 3}, {1, 4, 5}, {0, -4, 5}} {
				bad[0], bad[1] = values[0], ok(tensor.FromSlice(offsets, 3))
				var panicked *PanicError
				if err := p.Run(t.Context(), 2, bad); err == nil || errors.As(err, &panicked) {
					t.Errorf("offsets %v: got %v", offsets, err)
				}
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestFusedLookupsFollow: reads after a fused lookup come after everything that the lookup waited for.
func TestFusedLookupsFollow(t *testing.T) {
	g, feeds, rows, sum, _ := lookupGraph(t)
	b, two := graph.NewBuilder(g), fixedType(tensor.Float32, 2)
	v := b.Variable("v", two)
	add := b.Node("AssignAddVariableOp", "add", nil, nil, v, b.Const("ones", dense([]float32{1, 1}, 2)))
	rows.Node.Control = append(rows.Node.Control, add)
	read := b.Op("ReadVariableOp", "read", two, nil, v)
	read.Node.Control = append(read.Node.Control, sum.Node)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	dev := device.NewHost()
	vars := ok(NewVariables(dev))
	if err := vars.Create("v", tensor.New(tensor.Float32, 2)); err != nil {
		t.Fatal(err)
	}
	p := ok(Compile(g, Spec{Feeds: feeds, Fetches: []graph.Output{sum, read}}, dev, vars, Options{}))
	values := []*tensor.Tensor{dense([]int64{3, -1, 8}, 3), dense([]int64{0, 3}, 2), tensor.New(tensor.Float32, 3, 1), tensor.New(tensor.Float32, 9, 2)}
	if err := p.Run(bg, 1, values); err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[float32](p.Value(1)); !slices.Contains(opNames(p), "_RaggedCombine") || !slices.Equal(got, []float32{1, 1}) {
		t.Errorf("ops %v, read %v: expected the variable after its update", opNames(p), got)
	}
}

// TestRowNumbersOfOtherShapes: nodes that only look like lower.RowNumbers are left as they are.
func TestRowNumbersOfOtherShapes(t *testing.T) {
	for _, c := range []struct {
		name      string
		positions int // the range's size
		out       tensor.DType
		want      []int64
	}{
		{"int64", 4, tensor.Int64, []int64{0, 0, -1, 1}},
		{"one position for all", 1, tensor.Int32, []int64{0, 0, -1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := graph.NewBuilder(graph.New())
			ids, offsets := b.Placeholder("ids", fixedType(tensor.Int64, 4)), b.Placeholder("offsets", fixedType(tensor.Int64, 3))
			flat := func(x graph.Output, name string, dims ...int) graph.Output {
				to := make([]int32, len(dims))
				for i, d := range dims {
					to[i] = int32(d)
				}
				return b.Op("Reshape", name, fixedType(x.DType(), dims...), nil, x, b.Const(name+"/shape", dense(to, len(to))))
			}
			at := b.Op("Range", "at", fixedType(tensor.Int64, c.positions), nil, b.Scalar("start", tensor.Int64, 0), b.Scalar("limit", tensor.Int64, float64(c.positions)), b.Scalar("delta", tensor.Int64, 1))
			above := b.Op("UpperBound", "above", fixedType(c.out, 1, c.positions), nil, flat(offsets, "table", 1, 3), flat(at, "positions", 1, c.positions))
			row := b.Op("Sub", "row", fixedType(c.out, c.positions), nil, flat(above, "line", c.positions), b.Scalar("one", c.out, 1))
			there := b.Op("GreaterEqual", "there", fixedType(tensor.Bool, 4), nil, ids, b.Scalar("zero", tensor.Int64, 0))
			numbers := b.Op("SelectV2", "numbers", fixedType(c.out, 4), nil, there, row, b.Scalar("none", c.out, -1))
			if err := b.Err(); err != nil {
				t.Fatal(err)
			}
			dev := device.NewHost()
			p, err := Compile(b.Graph, Spec{Feeds: []graph.Output{ids, offsets}, Fetches: []graph.Output{numbers}}, dev, ok(NewVariables(dev)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(bg, 1, []*tensor.Tensor{dense([]int64{5, 5, -1, 5}, 4), dense([]int64{0, 3, 4}, 3)}); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := p.Value(0).Float(i); got != float64(want) {
					t.Errorf("value %d: number %g, expected %d", i, got, want)
				}
			}
		})
	}
}

// TestNegativeIndicesAreNotApplied: padding of a gradient changes no row, in any rule.
func TestNegativeIndicesAreNotApplied(t *testing.T) {
	for _, width := range []int{1, 3} {
		for _, ids := range [][]int64{{-1, 2, 5, -1}, {2, -1, 2, -1}, {-1, -1, -1, -1}, {5, 2, -1, 5}} {
			for _, op := range []string{"ResourceSparseApplyAdagradV2", "ResourceScatterAdd", "ResourceScatterSub"} {
				t.Run(fmt.Sprint(op, ids, width), func(t *testing.T) {
					all, some := scattered(t, op, ids, width), []int64{}
					for _, id := range ids {
						if id >= 0 {
							some = append(some, id)
						}
					}
					if want := scattered(t, op, some, width); !slices.Equal(all, want) {
						t.Errorf("with padding %v, without %v", all, want)
					}
				})
			}
		}
	}
}

// scattered applies rows of ids, whose elements are the ids plus one, to a variable of ones [7,width].
func scattered(t *testing.T, op string, ids []int64, width int) []float32 {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	typ := graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(7, width)}
	v, slot := b.Variable("v", typ), b.Variable("slot", typ)
	at := b.Const("ids", ok(tensor.FromSlice(ids, len(ids))))
	values := tensor.New(tensor.Float32, len(ids), width)
	for i := range tensor.Values[float32](values) {
		tensor.Values[float32](values)[i] = float32(ids[i/width] + 1)
		if ids[i/width] < 0 {
			tensor.Values[float32](values)[i] = 100
		}
	}
	g := b.Const("rows", values)
	in := []graph.Output{v, at, g}
	if op == "ResourceSparseApplyAdagradV2" {
		in = []graph.Output{v, slot, b.Scalar("lr", tensor.Float32, 0.5), b.Scalar("epsilon", tensor.Float32, 0), g, at}
	}
	n := b.Node(op, "update", nil, graph.Attrs{"dtype": tensor.Float32, "T": tensor.Float32, "Tindices": tensor.Int64, "update_slots": true}, in...)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	dev := device.NewHost()
	defer dev.Close()
	vars := ok(NewVariables(dev))
	for _, name := range []string{"v", "slot"} {
		one := tensor.New(tensor.Float32, 7, width)
		for i := range tensor.Values[float32](one) {
			tensor.Values[float32](one)[i] = 1
		}
		if err := vars.Create(name, one); err != nil {
			t.Fatal(err)
		}
	}
	p := ok(Compile(b.Graph, Spec{Targets: []*graph.Node{n}}, dev, vars, Options{}))
	defer p.Close()
	if err := p.Run(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(tensor.Values[float32](ok(vars.Get("v"))))
}
