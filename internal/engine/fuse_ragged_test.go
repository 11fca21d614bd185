package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/internal/lower"
)

// lookupGraph sums weighted rows of a table [9,2] by ragged ids, as ops.LookupSparse does, and gives every value its
// example's sum: ids [3B], offsets, weights [3B] and the table are fed.
func lookupGraph(t *testing.T) (g *graph.Graph, feeds []graph.Output, rows, sum, back graph.Output) {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	place := func(name string, d graph.DType, dims ...graph.Dim) graph.Output {
		feeds = append(feeds, b.Placeholder(name, graph.Type{DType: d, Shape: graph.Shape{Dims: dims}}))
		return feeds[len(feeds)-1]
	}
	n, one, two := graph.Dim{PerBatch: 3}, graph.Fixed(1), graph.Fixed(2)
	ids, offsets := place("ids", graph.Int64, n), place("offsets", graph.Int64, graph.Dim{PerBatch: 1, Const: 1})
	weights, table := place("weights", graph.Float32, n, one), place("table", graph.Float32, graph.Fixed(9), two)
	flat := graph.Type{DType: graph.Float32, Shape: graph.Shape{Dims: []graph.Dim{n, two}}}
	at := b.Op("Maximum", "at", ids.Type(), nil, ids, b.Scalar("zero", graph.Int64, 0))
	rows = b.Op("GatherV2", "rows", flat, nil, table, at, b.Scalar("axis", graph.Int32, 0))
	weighted := b.Op("Mul", "weighted", flat, nil, rows, weights)
	numbers := lower.RowNumbers(b, "numbers", ids, offsets)
	sum = b.Op("UnsortedSegmentSum", "sum", graph.Type{DType: graph.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Batch, two}}}, nil,
		weighted, numbers, b.Scalar("count", graph.Int32, 1))
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
	values := []*graph.Tensor{ok(graph.FromSlice([]int64{3, -1, 8, 3, 0, -1}, 6)), ok(graph.FromSlice([]int64{0, 4, 5}, 3)),
		ok(graph.FromSlice([]float32{1, 5, 2, 3, 0.5, 9}, 6, 1)), graph.NewTensor(graph.Float32, 9, 2)}
	for i := range graph.Of[float32](values[3]) {
		graph.Of[float32](values[3])[i] = float32(i)
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
			if s := graph.Of[float32](p.Value(0)); !slices.Equal(s, wantSum) {
				t.Errorf("sum %v, expected %v", s, wantSum)
			}
			if len(c.fetches) > 1 && !slices.Equal(graph.Of[float32](p.Value(1)), wantBack) {
				t.Errorf("back %v, expected %v", graph.Of[float32](p.Value(1)), wantBack)
			}
			bad := slices.Clone(values)
			bad[0] = ok(graph.FromSlice([]int64{3, 1, 9, 12, 0, -1}, 6))
			var index *IndexError
			if err := p.Run(t.Context(), 2, bad); !errors.As(err, &index) || index.Index != 9 || index.Position != 2 {
				t.Errorf("an id that is no row: got %v", err)
			}
			for _, offsets := range [][]int64{{0, 4, 7}, {0, 4, 3}, {1, 4, 5}, {0, -4, 5}} {
				bad[0], bad[1] = values[0], ok(graph.FromSlice(offsets, 3))
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
	typ := graph.Type{DType: graph.Float32, Shape: graph.ShapeOf(7, width)}
	v, slot := b.Variable("v", typ), b.Variable("slot", typ)
	at := b.Const("ids", ok(graph.FromSlice(ids, len(ids))))
	values := graph.NewTensor(graph.Float32, len(ids), width)
	for i := range graph.Of[float32](values) {
		graph.Of[float32](values)[i] = float32(ids[i/width] + 1)
		if ids[i/width] < 0 {
			graph.Of[float32](values)[i] = 100
		}
	}
	g := b.Const("rows", values)
	in := []graph.Output{v, at, g}
	if op == "ResourceSparseApplyAdagradV2" {
		in = []graph.Output{v, slot, b.Scalar("lr", graph.Float32, 0.5), b.Scalar("epsilon", graph.Float32, 0), g, at}
	}
	n := b.Node(op, "update", nil, graph.Attrs{"dtype": graph.Float32, "T": graph.Float32, "Tindices": graph.Int64, "update_slots": true}, in...)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	dev := device.NewHost()
	defer dev.Close()
	vars := ok(NewVariables(dev))
	for _, name := range []string{"v", "slot"} {
		one := graph.NewTensor(graph.Float32, 7, width)
		for i := range graph.Of[float32](one) {
			graph.Of[float32](one)[i] = 1
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
	return slices.Clone(graph.Of[float32](ok(vars.Get("v"))))
}
