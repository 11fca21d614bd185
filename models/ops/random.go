package ops

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// philox is TensorFlow's number for the Philox generator (rng_alg.h).
const philox = 1

// RandomUniform returns numbers in [0, 1) of x's type and shape, different at each
// step. They depend only on the model's seed, the node's name and the global step.
func RandomUniform(c models.Context, x *G.Node) *G.Node {
	return random(c, "StatelessRandomUniformV2", x)
}

// RandomUniformIn returns numbers in [low, high) of x's type and shape, as
// tf.random.uniform does; RandomUniform says what they depend on.
func RandomUniformIn(c models.Context, x *G.Node, low, high float64) *G.Node {
	if !(low < high) || math.IsInf(high-low, 0) { // rejects NaN too
		c.Core().Failf("RandomUniformIn: from %v to %v: expected finite numbers, the first below the second", low, high)
		return nil
	}
	return scaled(c, RandomUniform(c, x), high-low, low)
}

// RandomNormal returns normally distributed numbers of x's type and shape, as
// tf.random.normal does; RandomUniform says what they depend on. No gradient flows to x:
// for a learned mean and deviation, write mean + deviation·RandomNormal(c, mean, 0, 1).
func RandomNormal(c models.Context, x *G.Node, mean, stddev float64) *G.Node {
	return normal(c, "RandomNormal", "StatelessRandomNormalV2", x, mean, stddev)
}

// TruncatedNormal is RandomNormal, but draws numbers two deviations or more from the
// mean again, as tf.random.truncated_normal does.
func TruncatedNormal(c models.Context, x *G.Node, mean, stddev float64) *G.Node {
	return normal(c, "TruncatedNormal", "StatelessTruncatedNormalV2", x, mean, stddev)
}

func normal(c models.Context, fn, op string, x *G.Node, mean, stddev float64) *G.Node {
	if !(stddev >= 0) || math.IsInf(stddev, 0) || math.IsNaN(mean) || math.IsInf(mean, 0) {
		c.Core().Failf("%s: mean %v, standard deviation %v: expected finite numbers, the second >= 0", fn, mean, stddev)
		return nil
	}
	return scaled(c, random(c, op, x), stddev, mean)
}

// scaled returns x·by + plus.
func scaled(c models.Context, x *G.Node, by, plus float64) *G.Node {
	if by != 1 {
		x = Mul(c, x, scalarLike(c, x, by))
	}
	if plus != 0 {
		x = Add(c, x, scalarLike(c, x, plus))
	}
	return x
}

// RandomInts returns integers in [low, high) of type d (int32 or int64) and of x's
// shape, as tf.random.uniform does for such types; RandomUniform says what they depend on.
func RandomInts(c models.Context, x *G.Node, low, high int, d tensor.DType) *G.Node {
	const name = "StatelessRandomUniformIntV2"
	if !ready(c, name, x) {
		return nil
	}
	dt, err := models.GorgoniaType(d)
	switch narrow := dt == gtensor.Int32; {
	case err != nil || !narrow && dt != gtensor.Int64:
		c.Core().Failf("RandomInts: type %v: expected int32 or int64", d)
		return nil
	case low >= high, narrow && (low < math.MinInt32 || high > math.MaxInt32):
		c.Core().Failf("RandomInts: from %d to %d: expected numbers of type %v, the first below the second", low, high, d)
		return nil
	}
	limit := func(v int) *tensor.Tensor {
		if d == tensor.Int32 {
			return tensor.Scalar(int32(v))
		}
		return tensor.Scalar(int64(v))
	}
	return apply(c, spec{op: name, outs: []kind{{dt, x.Shape()}}, emit: randomNumbers, attrs: graph.Attrs{"dtype": d, "Tshape": tensor.Int32},
		consts: []operand{{name: "minval", tensor: limit(low)}, {name: "maxval", tensor: limit(high)}}}, x)
}

// random applies a generator of floats of x's type and shape.
func random(c models.Context, op string, x *G.Node) *G.Node {
	if !floats(c, op, x) {
		return nil
	}
	return apply(c, spec{op: op, outs: []kind{kindOf(x)}, emit: randomNumbers,
		attrs: graph.Attrs{"dtype": models.GraphType(x.Dtype()), "Tshape": tensor.Int32}}, x)
}

// randomNumbers emits the generator: key from seed and name, counter from the step.
func randomNumbers(e *emission) []graph.Output {
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
	// The step is the high word, so one run may draw 2^64 blocks of four numbers.
	counter = e.Op("Pack", e.Name+"/counter", graph.Type{DType: u64, Shape: graph.ShapeOf(2)},
		graph.Attrs{"T": u64, "N": int64(2), "axis": int64(0)}, low, step)
	key = e.Op("Const", e.Name+"/key", graph.Type{DType: u64, Shape: vec}, graph.Attrs{"dtype": u64, "value": k})
	return key, counter
}
