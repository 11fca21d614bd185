package sampling

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Operands are the inputs of Emit, with a row for each text.
type Operands struct {
	Logits      graph.Output // float32 [batch, vocabulary]
	Temperature graph.Output // float32 [batch]
	TopK        graph.Output // int32 [batch]
	Seed        graph.Output // int64 [batch]
	Position    graph.Output // int64 [batch]
}

// Emit adds the ops of Draw and returns the tokens, int32 [batch].
func Emit(b *graph.Builder, name string, in Operands) graph.Output {
	e := &emission{b, name, in.Logits.Shape().Dims[0], in.Logits.Shape().Dims[1]}
	greedy := e.op("LogicalNot", "greedy", tensor.Bool, nil, e.op("Greater", "warm", tensor.Bool, attrs("T", tensor.Float32), in.Temperature, e.float("none", 0)))
	temperature := e.where("temperature", greedy, e.op("OnesLike", "one", tensor.Float32, attrs("T", tensor.Float32), in.Temperature), in.Temperature)
	top := e.wide("Max", "top", in.Logits)
	scaled := e.rows("RealDiv", "scaled", tensor.Float32, e.rows("Sub", "below_top", tensor.Float32, in.Logits, top), e.column("temperature/column", temperature))
	may := e.rows("GreaterEqual", "may", tensor.Bool, in.Logits, e.least(in))
	scaled = e.b.Op("SelectV2", e.at("kept"), scaled.Type(), attrs("T", tensor.Float32), may, scaled, e.float("never", math.Inf(-1)))
	shares := e.b.Op("Softmax", e.at("shares"), scaled.Type(), attrs("T", tensor.Float32), scaled)
	sums := e.b.Op("Cumsum", e.at("sums"), shares.Type(), graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "exclusive": false, "reverse": false}, shares, e.int("axis", 1))
	sum := e.wide("Max", "sum", sums)
	limit := e.b.Op("Mul", e.at("limit"), sum.Type(), attrs("T", tensor.Float32), e.column("uniform/column", e.uniform(in.Seed, in.Position)), sum)
	passed := e.b.Cast(e.at("passed"), e.rows("LessEqual", "pass", tensor.Bool, sums, limit), tensor.Int32)
	drawn := e.b.Op("Sum", e.at("drawn"), graph.Type{DType: tensor.Int32, Shape: graph.Shape{Dims: []graph.Dim{e.batch}}},
		graph.Attrs{"T": tensor.Int32, "Tidx": tensor.Int32, "keep_dims": false}, passed, e.int("along", 1))
	drawn = e.op("Minimum", "token", tensor.Int32, attrs("T", tensor.Int32), drawn, e.int("last", e.tokens.Const-1))
	best := e.op("ArgMax", "best", tensor.Int32, graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "output_type": tensor.Int32}, in.Logits, e.int("of", 1))
	return e.where("next", greedy, best, drawn)
}

// emission adds the ops of one draw.
type emission struct {
	b             *graph.Builder
	name          string
	batch, tokens graph.Dim
}

func attrs(key string, v any) graph.Attrs { return graph.Attrs{key: v} }

func (e *emission) at(name string) string { return e.b.Graph.UniqueName(e.name + "/" + name) }

func (e *emission) int(name string, v int) graph.Output {
	return e.b.Scalar(e.at(name), tensor.Int32, float64(v))
}

func (e *emission) float(name string, v float64) graph.Output {
	return e.b.Scalar(e.at(name), tensor.Float32, v)
}

// op adds an op whose result is [batch].
func (e *emission) op(op, name string, d tensor.DType, a graph.Attrs, in ...graph.Output) graph.Output {
	return e.b.Op(op, e.at(name), graph.Type{DType: d, Shape: graph.Shape{Dims: []graph.Dim{e.batch}}}, a, in...)
}

// where chooses between yes and no, row by row.
func (e *emission) where(name string, cond, yes, no graph.Output) graph.Output {
	return e.op("SelectV2", name, yes.DType(), attrs("T", yes.DType()), cond, yes, no)
}

// rows adds an op whose result is [batch, vocabulary].
func (e *emission) rows(op, name string, d tensor.DType, in ...graph.Output) graph.Output {
	return e.b.Op(op, e.at(name), graph.Type{DType: d, Shape: graph.Shape{Dims: []graph.Dim{e.batch, e.tokens}}}, attrs("T", in[0].DType()), in...)
}

// column reshapes [batch] to [batch, 1].
func (e *emission) column(name string, x graph.Output) graph.Output {
	shape := graph.Shape{Dims: []graph.Dim{e.batch, graph.Fixed(1)}}
	return e.b.Op("ExpandDims", e.at(name), graph.Type{DType: x.DType(), Shape: shape}, graph.Attrs{"T": x.DType(), "Tdim": tensor.Int32}, x, e.int("columns", 1))
}

// wide reduces [batch, n] to [batch, 1].
func (e *emission) wide(op, name string, x graph.Output) graph.Output {
	shape := graph.Shape{Dims: []graph.Dim{e.batch, graph.Fixed(1)}}
	return e.b.Op(op, e.at(name), graph.Type{DType: x.DType(), Shape: shape}, graph.Attrs{"T": x.DType(), "Tidx": tensor.Int32, "keep_dims": true}, x, e.int("within", 1))
}

// least is the smallest logit of each row that may be drawn.
func (e *emission) least(in Operands) graph.Output {
	n := e.int("vocabulary", e.tokens.Const)
	sorted := e.b.Node("TopKV2", e.at("sorted"), []graph.Type{in.Logits.Type(), {DType: tensor.Int32, Shape: in.Logits.Shape()}},
		graph.Attrs{"T": tensor.Float32, "Tk": tensor.Int32, "index_type": tensor.Int32, "sorted": true}, in.Logits, n).Out(0)
	all := e.op("Less", "all", tensor.Bool, attrs("T", tensor.Int32), in.TopK, e.int("one_token", 1))
	k := e.op("Minimum", "tokens", tensor.Int32, attrs("T", tensor.Int32), in.TopK, n)
	k = e.where("k", all, e.op("ZerosLike", "zero", tensor.Int32, attrs("T", tensor.Int32), k), k)
	k = e.op("Sub", "before", tensor.Int32, attrs("T", tensor.Int32), k, e.int("first", 1))
	k = e.op("FloorMod", "place", tensor.Int32, attrs("T", tensor.Int32), k, n) // all tokens: the last place
	return e.b.Op("GatherV2", e.at("least"), graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{e.batch, graph.Fixed(1)}}},
		graph.Attrs{"Tparams": tensor.Float32, "Tindices": tensor.Int32, "Taxis": tensor.Int32, "batch_dims": int64(1)}, sorted, e.column("place/column", k), e.int("second", 1))
}

// uniform adds the ops of Uniform.
func (e *emission) uniform(seed, position graph.Output) graph.Output {
	h := e.mix(e.bits("BitwiseAnd", seed, word))
	h = e.mix(e.long("BitwiseXor", h, e.bits("BitwiseAnd", e.bits("RightShift", seed, 32), word)))
	h = e.mix(e.long("BitwiseXor", h, e.bits("BitwiseAnd", position, word)))
	number := e.b.Cast(e.at("number"), e.bits("RightShift", h, 8), tensor.Float32)
	return e.op("Mul", "uniform", tensor.Float32, attrs("T", tensor.Float32), number, e.float("fraction", fraction))
}

func (e *emission) mix(h graph.Output) graph.Output {
	for range 2 {
		h = e.long("BitwiseXor", h, e.bits("RightShift", h, 16))
		h = e.bits("BitwiseAnd", e.bits("Mul", h, multiplier), word)
	}
	return e.long("BitwiseXor", h, e.bits("RightShift", h, 16))
}

// bits adds an int64 op whose second operand is a constant.
func (e *emission) bits(op string, x graph.Output, v int64) graph.Output {
	return e.long(op, x, e.b.Const(e.at("bits"), tensor.Scalar(v)))
}

func (e *emission) long(op string, x, y graph.Output) graph.Output {
	return e.op(op, "hash", tensor.Int64, attrs("T", tensor.Int64), x, y)
}
