package export

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// unknownWord is the word for an id without one.
const unknownWord = "UNK"

// words adds nodes that map ids to words: words[id], or the id in decimal if there are no words.
func (e emitter) words(name string, ids graph.Output, words []string) graph.Output {
	t := graph.Type{DType: tensor.String, Shape: ids.Shape()}
	if len(words) == 0 {
		return e.Op("AsString", name, t, graph.Attrs{"T": ids.DType(), "precision": int64(-1), "scientific": false, "shortest": false,
			"width": int64(-1), "fill": []byte{}}, ids)
	}
	d := ids.DType()
	boolean := graph.Type{DType: tensor.Bool, Shape: ids.Shape()}
	n := e.Scalar(name+"/n", d, float64(len(words)))
	low := e.like("GreaterEqual", name+"/low", tensor.Bool, ids, e.Scalar(name+"/zero", d, 0))
	high := e.like("Less", name+"/high", tensor.Bool, ids, n)
	known := e.Op("LogicalAnd", name+"/known", boolean, nil, low, high)
	at := e.choose(name+"/at", known, ids, n)
	table := e.strings(name+"/words", append(append([]string(nil), words...), unknownWord)...)
	return e.Op("GatherV2", name, t, graph.Attrs{"Tparams": tensor.String, "Tindices": d, "Taxis": tensor.Int32, "batch_dims": int64(0)},
		table, at, e.Scalar(name+"/axis", tensor.Int32, 0))
}
