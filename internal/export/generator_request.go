package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// request has the inputs of the signature, with a row for each text.
type request struct {
	prompt, newTokens, temperature, topK, seed graph.Output
	longest, length                            graph.Output // the longest text to write, and the length of each text
	last, written                              graph.Output // the position of a prompt's last byte in the context, and the length of the whole prompt
}

// request adds the placeholders. It refuses lengths that do not fit in the context.
func (w *generating) request() (r request) {
	in := func(key string, d tensor.DType) graph.Output {
		x := w.Placeholder(key, ofRank(d, graph.Batch))
		w.inputs = append(w.inputs, input{key, x})
		return x
	}
	r.prompt, r.newTokens = in("prompt", tensor.String), in("max_new_tokens", tensor.Int32)
	r.temperature, r.topK, r.seed = in("temperature", tensor.Float32), in("top_k", tensor.Int32), in("seed", tensor.Int64)

	low := w.like("GreaterEqual", "request/low", tensor.Bool, r.newTokens, w.Scalar("request/zero", tensor.Int32, 0))
	high := w.like("Less", "request/high", tensor.Bool, r.newTokens, w.Scalar("request/context", tensor.Int32, float64(w.gen.Context)))
	fits := w.Op("LogicalAnd", "request/fits", low.Type(), nil, low, high)
	all := w.reduced("All", "request/all", fits)
	what := w.emitter.text("request/what", fmt.Sprintf("max_new_tokens: expected 0..%d, one less than the positions of the model, got", w.gen.Context-1))
	assert := w.Node("Assert", "request/Assert", nil, graph.Attrs{"T": []tensor.DType{tensor.String, tensor.Int32}, "summarize": int64(8)}, all, what, r.newTokens)
	r.length = w.identity("request/length", r.newTokens, assert)
	zero := w.Scalar("request/none", tensor.Int32, 0)
	r.longest = w.Op("Maximum", "request/longest", graph.TypeOf(tensor.Int32), graph.Attrs{"T": tensor.Int32}, w.reduced("Max", "request/max", r.length), zero)
	return r
}

// reduced reduces [batch] to a scalar.
func (w *generating) reduced(op, name string, x graph.Output) graph.Output {
	attrs := graph.Attrs{"keep_dims": false, "Tidx": tensor.Int32}
	if op != "All" {
		attrs["T"] = x.DType()
	}
	return w.Op(op, name, graph.TypeOf(x.DType()), attrs, x, w.Scalar(name+"/axis", tensor.Int32, 0))
}

// ids returns the ids of the prompts, int32 [batch, context]. If a prompt is too long, its end is used, so that
// the text to write fits. An empty prompt is read as a line end.
func (w *generating) ids(r *request) graph.Output {
	length := func(name string, x graph.Output) graph.Output {
		return w.Op("StringLength", name, ofRank(tensor.Int32, graph.Batch), graph.Attrs{"unit": []byte("BYTE")}, x)
	}
	zero := w.Scalar("prompt/zero", tensor.Int32, 0)
	empty := w.like("Equal", "prompt/empty", tensor.Bool, length("prompt/length", r.prompt), zero)
	prompt := w.Op("SelectV2", "prompt/text", r.prompt.Type(), graph.Attrs{"T": tensor.String}, empty, w.emitter.text("prompt/line_end", "\n"), r.prompt)
	whole := length("prompt/whole", prompt)
	r.written = w.cast("prompt/written", whole, tensor.Int64)
	room := w.Op("Sub", "prompt/room", r.length.Type(), graph.Attrs{"T": tensor.Int32}, w.Scalar("prompt/context", tensor.Int32, float64(w.gen.Context)), r.length)
	from := w.like("Maximum", "prompt/from", tensor.Int32, w.like("Sub", "prompt/over", tensor.Int32, whole, room), zero)
	shown := w.like("Sub", "prompt/shown", tensor.Int32, whole, from)
	r.last = w.like("Sub", "prompt/last", tensor.Int32, shown, w.Scalar("prompt/one", tensor.Int32, 1))
	end := w.Op("Substr", "prompt/end", prompt.Type(), graph.Attrs{"T": tensor.Int32, "unit": []byte("BYTE")}, prompt, from, shown)
	wide := graph.Shape{Dims: []graph.Dim{graph.Batch, graph.Fixed(w.gen.Context)}}
	raw := w.Op("DecodePaddedRaw", "prompt/bytes", graph.Type{DType: tensor.Uint8, Shape: wide}, graph.Attrs{"out_type": tensor.Uint8, "little_endian": true},
		end, w.Scalar("prompt/positions", tensor.Int32, float64(w.gen.Context)))
	table := make([]int32, 256)
	for i := len(w.gen.Characters) - 1; i >= 0; i-- {
		table[w.gen.Characters[i]] = int32(i)
	}
	return w.Op("GatherV2", "prompt/ids", graph.Type{DType: tensor.Int32, Shape: wide}, gathering(tensor.Int32),
		w.ints("prompt/table", table...), w.cast("prompt/numbers", raw, tensor.Int32), w.Scalar("prompt/axis", tensor.Int32, 0))
}

func gathering(d tensor.DType) graph.Attrs {
	return graph.Attrs{"Tparams": d, "Tindices": tensor.Int32, "Taxis": tensor.Int32, "batch_dims": int64(0)}
}

// result returns the written texts for ids [batch, longest].
func (w *generating) result(r request, ids graph.Output) graph.Output {
	table := tensor.New(tensor.String, len(w.gen.Characters))
	for i, c := range []byte(w.gen.Characters) {
		table.Strings[i] = []byte{c}
	}
	all := w.Const("text/characters", table)
	letters := w.Op("GatherV2", "text/letters", graph.Type{DType: tensor.String, Shape: ids.Shape()}, gathering(tensor.String), all, ids, w.Scalar("text/axis", tensor.Int32, 0))
	joined := w.Op("ReduceJoin", "text/joined", r.prompt.Type(), graph.Attrs{"keep_dims": false, "separator": []byte{}}, letters, w.ints("text/along", 1))
	none := w.Op("ZerosLike", "text/begin", r.length.Type(), graph.Attrs{"T": tensor.Int32}, r.length)
	return w.Op("Substr", "text/text", r.prompt.Type(), graph.Attrs{"T": tensor.Int32, "unit": []byte("BYTE")}, joined, none, r.length)
}
