package export

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// once adds nodes that return each nonnegative index once, with the sum of its rows.
func (e emitter) once(name string, rows, indices graph.Output) (sums, distinct graph.Output) {
	d, i := rows.DType(), indices.DType()
	dims := append([]graph.Dim{graph.Unknown}, rows.Shape().Dims[1:]...)
	there := e.like("GreaterEqual", name+"/there", tensor.Bool, indices, e.Scalar(name+"/zero", i, 0))
	where := e.Op("Where", name+"/Where", ofRank(tensor.Int64, graph.Unknown, graph.Fixed(1)), graph.Attrs{"T": tensor.Bool}, there)
	kept := e.Op("Squeeze", name+"/Squeeze", vector(tensor.Int64), graph.Attrs{"T": tensor.Int64, "squeeze_dims": []int64{1}}, where)
	axis := e.Scalar(name+"/axis", tensor.Int32, 0)
	pick := func(what string, x graph.Output, t graph.Type) graph.Output {
		return e.Op("GatherV2", name+"/"+what, t, graph.Attrs{"Tparams": x.DType(), "Tindices": tensor.Int64, "Taxis": tensor.Int32, "batch_dims": int64(0)}, x, kept, axis)
	}
	unique := e.Node("Unique", name+"/Unique", []graph.Type{vector(i), vector(tensor.Int32)}, graph.Attrs{"T": i, "out_idx": tensor.Int32}, pick("indices", indices, vector(i)))
	count := e.Op("Size", name+"/Size", graph.Type{DType: tensor.Int32}, graph.Attrs{"T": i, "out_type": tensor.Int32}, unique.Out(0))
	sums = e.Op("UnsortedSegmentSum", name+"/UnsortedSegmentSum", ofRank(d, dims...), graph.Attrs{"T": d, "Tindices": tensor.Int32, "Tnumsegments": tensor.Int32},
		pick("rows", rows, ofRank(d, dims...)), unique.Out(1), count)
	return sums, unique.Out(0)
}
