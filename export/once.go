package export

import "github.com/goestimator/goestimator/internal/compiler/graph"

// once adds nodes that give each index that is not negative once, with the sum of its rows.
func (e emitter) once(name string, rows, indices graph.Output) (sums, distinct graph.Output) {
	d, i := rows.DType(), indices.DType()
	dims := append([]graph.Dim{graph.Unknown}, rows.Shape().Dims[1:]...)
	there := e.like("GreaterEqual", name+"/there", graph.Bool, indices, e.Scalar(name+"/zero", i, 0))
	where := e.Op("Where", name+"/Where", ofRank(graph.Int64, graph.Unknown, graph.Fixed(1)), graph.Attrs{"T": graph.Bool}, there)
	kept := e.Op("Squeeze", name+"/Squeeze", vector(graph.Int64), graph.Attrs{"T": graph.Int64, "squeeze_dims": []int64{1}}, where)
	axis := e.Scalar(name+"/axis", graph.Int32, 0)
	pick := func(what string, x graph.Output, t graph.Type) graph.Output {
		return e.Op("GatherV2", name+"/"+what, t, graph.Attrs{"Tparams": x.DType(), "Tindices": graph.Int64, "Taxis": graph.Int32, "batch_dims": int64(0)}, x, kept, axis)
	}
	unique := e.Node("Unique", name+"/Unique", []graph.Type{vector(i), vector(graph.Int32)}, graph.Attrs{"T": i, "out_idx": graph.Int32}, pick("indices", indices, vector(i)))
	count := e.Op("Size", name+"/Size", graph.Type{DType: graph.Int32}, graph.Attrs{"T": i, "out_type": graph.Int32}, unique.Out(0))
	sums = e.Op("UnsortedSegmentSum", name+"/UnsortedSegmentSum", ofRank(d, dims...), graph.Attrs{"T": d, "Tindices": graph.Int32, "Tnumsegments": graph.Int32},
		pick("rows", rows, ofRank(d, dims...)), unique.Out(1), count)
	return sums, unique.Out(0)
}
