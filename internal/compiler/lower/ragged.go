package lower

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// RowNumbers adds nodes that number the values of a ragged tensor by the
// example they belong to: int32, with the shape of ids [n]; offsets is int64
// [rows+1]. Negative ids get the number -1. So do values past the last example,
// whose ids the caller makes negative. Name begins the names of the nodes.
//
// The engine fuses these nodes into one pass.
func RowNumbers(b *graph.Builder, name string, ids, offsets graph.Output) graph.Output {
	if b.Err() != nil {
		return graph.Output{}
	}
	n, rows := ids.Shape().Dims[0], offsets.Shape().Dims[0]
	flat, numbers := graph.Shape{Dims: []graph.Dim{n}}, graph.Type{DType: tensor.Int32, Shape: graph.Shape{Dims: []graph.Dim{n}}}
	size := b.Op("Size", name+"/Size", graph.Type{DType: tensor.Int64}, graph.Attrs{"T": ids.DType(), "out_type": tensor.Int64}, ids)
	at := b.Op("Range", name+"/Range", graph.Type{DType: tensor.Int64, Shape: flat}, graph.Attrs{"Tidx": tensor.Int64},
		b.Scalar(name+"/start", tensor.Int64, 0), size, b.Scalar(name+"/delta", tensor.Int64, 1))
	above := b.Op("UpperBound", name+"/UpperBound", graph.Type{DType: tensor.Int32, Shape: graph.Shape{Dims: []graph.Dim{graph.Fixed(1), n}}},
		graph.Attrs{"T": tensor.Int64, "out_type": tensor.Int32},
		reshapeTo(b, name+"/offsets", offsets, []int32{1, -1}, graph.Fixed(1), rows), reshapeTo(b, name+"/positions", at, []int32{1, -1}, graph.Fixed(1), n))
	row := b.Op("Sub", name+"/Sub", numbers, graph.Attrs{"T": tensor.Int32}, reshapeTo(b, name+"/above", above, []int32{-1}, n), b.Scalar(name+"/one", tensor.Int32, 1))
	there := b.Op("GreaterEqual", name+"/GreaterEqual", graph.Type{DType: tensor.Bool, Shape: flat}, graph.Attrs{"T": ids.DType()}, ids, b.Scalar(name+"/zero", ids.DType(), 0))
	return b.Op("SelectV2", name, numbers, graph.Attrs{"T": tensor.Int32}, there, row, b.Scalar(name+"/none", tensor.Int32, -1))
}

// NumberedBy returns the row numbers that RowNumbers made of offsets, before it
// leaves out negative ids.
func NumberedBy(g *graph.Graph, offsets graph.Output) []graph.Output {
	users := map[graph.Output][]*graph.Node{}
	for _, n := range g.Nodes() {
		for i, in := range n.Inputs {
			if i == 0 || n.Op != "UpperBound" {
				users[in] = append(users[in], n)
			}
		}
	}
	found := []graph.Output{offsets}
	for _, op := range []string{"Reshape", "UpperBound", "Reshape", "Sub"} {
		var next []graph.Output
		for _, o := range found {
			for _, n := range users[o] {
				if n.Op == op && n.Inputs[0] == o && (op != "UpperBound" || countsUp(n.Inputs[1])) {
					next = append(next, n.Out(0))
				}
			}
		}
		found = next
	}
	return found
}

// countsUp reports whether positions are 0, 1, 2, ... in another shape.
func countsUp(positions graph.Output) bool {
	r := positions.Node
	return r.Op == "Reshape" && r.Inputs[0].Node.Op == "Range"
}

// GatherPadded adds a GatherV2 of rows of x, zeros where the index is negative.
func GatherPadded(b *graph.Builder, name string, x, at graph.Output) graph.Output {
	if b.Err() != nil {
		return graph.Output{}
	}
	shape := graph.Shape{Dims: append(append([]graph.Dim(nil), at.Shape().Dims...), x.Shape().Dims[1:]...)}
	return b.Op("GatherV2", name, graph.Type{DType: x.DType(), Shape: shape},
		graph.Attrs{"Tparams": x.DType(), "Tindices": at.DType(), "Taxis": tensor.Int32, "batch_dims": int64(0), graph.NegativeGivesZeros: true},
		x, at, b.Scalar(name+"/axis", tensor.Int32, 0))
}

// Ends adds nodes that give where each example ends, offsets[1:], and where it starts, offsets[:-1].
func Ends(b *graph.Builder, name string, offsets graph.Output) (ends, starts graph.Output) {
	if b.Err() != nil {
		return
	}
	d := offsets.Shape().Dims[0]
	t := graph.Type{DType: offsets.DType(), Shape: graph.Shape{Dims: []graph.Dim{{PerBatch: d.PerBatch, Const: d.Const - 1}}}}
	if d.PerBatch == 0 {
		t.Shape = graph.ShapeOf(d.Const - 1)
	}
	slice := func(part string, begin, end int32, mask string) graph.Output {
		attrs := sliceAttrs(tensor.Int32, 0, 0)
		attrs["T"], attrs[mask] = offsets.DType(), int64(1)
		vector := func(what string, v int32) graph.Output {
			x, _ := tensor.FromSlice([]int32{v}, 1)
			return b.Const(name+"/"+part+"/"+what, x)
		}
		return b.Op("StridedSlice", name+"/"+part, t, attrs, offsets, vector("stack", begin), vector("stack_1", end), vector("stack_2", 1))
	}
	return slice("ends", 1, 0, "end_mask"), slice("starts", 0, -1, "begin_mask")
}

// reshapeTo adds a Reshape of x to those dimensions; the target has -1 for one of them.
func reshapeTo(b *graph.Builder, name string, x graph.Output, target []int32, dims ...graph.Dim) graph.Output {
	shape, _ := tensor.FromSlice(target, len(target))
	return b.Op("Reshape", name, graph.Type{DType: x.DType(), Shape: graph.Shape{Dims: dims}},
		graph.Attrs{"T": x.DType(), "Tshape": tensor.Int32}, x, b.Const(name+"/shape", shape))
}
