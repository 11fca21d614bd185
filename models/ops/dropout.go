package ops

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// philox is TensorFlow's number of the Philox generator (rng_alg.h).
const philox = 1

// RandomUniform returns numbers in [0, 1) of x's type and shape, different at each
// step. They depend only on the model's seed, the node's name and the global step.
func RandomUniform(c models.Context, x *G.Node) *G.Node {
	const name = "StatelessRandomUniformV2"
	if !floats(c, name, x) {
		return nil
	}
	return apply(c, spec{op: name, outs: []kind{kindOf(x)}, emit: randomUniform,
		attrs: graph.Attrs{"dtype": models.GraphType(x.Dtype()), "Tshape": tensor.Int32}}, x)
}

// randomUniform emits the generator: key from seed and name, counter from the step.
func randomUniform(e *emission) []graph.Output {
	k, counter := e.randomState(e.Name)
	alg := e.Const(e.Name+"/alg", tensor.Scalar(int32(philox)))
	return e.all(e.shapeOf(e.in[0]), k, counter, alg)
}

// randomState emits key and counter of the random numbers of a stream.
func (e *emission) randomState(stream string) (key, counter graph.Output) {
	u64, vec := tensor.Uint64, graph.ShapeOf(1)
	k, _ := tensor.FromSlice([]uint64{models.Key(e.Seed, stream)}, 1)
	low := e.Const(e.Name+"/counter/low", tensor.Scalar(uint64(0)))
	if !e.GlobalStep().Valid() {
		e.Fail(fmt.Errorf("%s: random numbers need the global step, which this program lacks", e.Name))
		return graph.Output{}, graph.Output{}
	}
	step := e.cast(e.GlobalStep(), u64)
	// The step is the high word: one run may draw 2^64 blocks of four numbers.
	counter = e.Op("Pack", e.Name+"/counter", graph.Type{DType: u64, Shape: graph.ShapeOf(2)},
		graph.Attrs{"T": u64, "N": int64(2), "axis": int64(0)}, low, step)
	key = e.Op("Const", e.Name+"/key", graph.Type{DType: u64, Shape: vec}, graph.Attrs{"dtype": u64, "value": k})
	return key, counter
}

// Dropout sets the fraction rate (0 <= rate < 1) of x to zero and multiplies the
// rest by 1/(1-rate), in every mode; layers.Dropout does so only in Train.
func Dropout(c models.Context, x *G.Node, rate float64) *G.Node {
	if !floats(c, "Dropout", x) {
		return nil
	}
	if !(rate >= 0 && rate < 1) { // rejects NaN too
		c.Core().Failf("Dropout: rate %v: expected 0 <= rate < 1", rate)
		return nil
	}
	keep := Cast(c, GreaterEqual(c, RandomUniform(c, x), scalarLike(c, x, rate)), models.GraphType(x.Dtype()))
	return Mul(c, x, Mul(c, keep, scalarLike(c, x, 1/(1-rate))))
}
