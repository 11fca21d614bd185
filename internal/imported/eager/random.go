package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// randomOps draw random numbers, the same bits as TensorFlow on CPUs.
var randomOps = randomTable()

func randomTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{
		ops.StatelessRandomGetKeyCounter:    plain(keyAndCounter),
		ops.StatelessRandomGetKeyCounterAlg: plain(keyAndCounter),
		ops.StatelessRandomGetAlg:           plain(algorithm),
		ops.NonDeterministicInts:            nonDeterministicInts,
		ops.RngSkip:                         plain(skipState),
		ops.RngReadAndSkip:                  plain(readAndSkipState),
		ops.UniformCandidateSampler:         candidates(uniformCandidates),
		ops.LogUniformCandidateSampler:      candidates(logUniformCandidates),
		ops.ComputeAccidentalHits:           accidentalHits,
		ops.RandomIndexShuffle:              indexShuffle,

		ops.SampleDistortedBoundingBox:          distortedBox,
		ops.SampleDistortedBoundingBoxV2:        distortedBox,
		ops.StatelessSampleDistortedBoundingBox: distortedBox,
		ops.FractionalMaxPool:                   fractionalPool(false),
		ops.FractionalAvgPool:                   fractionalPool(true),
	}
	for how, forms := range map[*drawing][]*ops.Def{
		{draw: drawUniform}:   {ops.RandomUniform, ops.StatelessRandomUniform, ops.StatelessRandomUniformV2, ops.StatefulUniform},
		{draw: drawNormal}:    {ops.RandomStandardNormal, ops.StatelessRandomNormal, ops.StatelessRandomNormalV2, ops.StatefulStandardNormalV2},
		{draw: drawTruncated}: {ops.TruncatedNormal, ops.StatelessTruncatedNormal, ops.StatelessTruncatedNormalV2, ops.StatefulTruncatedNormal},
		{draw: drawBetween}:   {ops.RandomUniformInt, ops.StatelessRandomUniformInt, ops.StatelessRandomUniformIntV2, ops.StatefulUniformInt},
		{draw: drawInts}:      {ops.StatelessRandomUniformFullInt, ops.StatelessRandomUniformFullIntV2, ops.StatefulUniformFullInt},
		{draw: drawGamma}:     {ops.RandomGamma, ops.StatelessRandomGammaV2, ops.StatelessRandomGammaV3},
		{draw: drawPoisson}:   {ops.RandomPoissonV2, ops.StatelessRandomPoisson},
		{draw: drawBinomial}:  {ops.StatelessRandomBinomial, ops.StatefulRandomBinomial},
		{draw: drawClasses}:   {ops.Multinomial, ops.StatelessMultinomial},
		{draw: drawOrder}:     {ops.RandomShuffle, ops.StatelessShuffle},
		{draw: drawBounded}:   {ops.ParameterizedTruncatedNormal, ops.StatelessParameterizedTruncatedNormal},
	} {
		for _, op := range forms {
			all[op] = drawing{op: op, draw: how.draw}.maker
		}
	}
	return all
}

// drawing is an op that draws random numbers, with the source of its streams.
type drawing struct {
	op    *ops.Def
	dtype tensor.DType // of the output, if an attribute gives it
	from  source
	draw  func(d drawing, c call) error
}

// source returns the stream of a run, and advances the state by a number of counters.
type source func(c call, counters uint64) (kernels.Rand, error)

func (d drawing) maker(s *site) (kernel, error) {
	if attr := d.op.Outputs()[0].TypeAttr; attr != "" {
		d.dtype = s.dtype(attr, d.op.DefaultType(attr))
	}
	d.from = d.source(s)
	return func(c call) error { return d.draw(d, c) }, nil
}

// source chooses an op's state by its inputs: a key and a counter, a seed or a variable; without them, the node keeps the state.
func (d drawing) source(s *site) source {
	switch {
	case d.op.Input("key") >= 0:
		return d.keyed
	case d.op.Input("seed") >= 0:
		return func(c call, _ uint64) (kernels.Rand, error) { return seeded(d.in(c, "seed")) }
	case d.op.Input("resource") >= 0:
		return d.ofVariable
	}
	g := s.generator()
	return func(_ call, counters uint64) (kernels.Rand, error) { return g.reserve(counters), nil }
}

// in returns an input by its name.
func (d drawing) in(c call, name string) *tensor.Tensor { return c.t(d.op.Input(name)) }

// reserve returns the stream of an op that makes n numbers. TensorFlow advances the state by 256 counters for each.
func (d drawing) reserve(c call, n int) (kernels.Rand, error) { return d.from(c, 256*uint64(n)) }

// shape returns the requested shape.
func (d drawing) shape(c call) ([]int, error) {
	t := d.in(c, "shape")
	if len(t.Shape) != 1 {
		return nil, fmt.Errorf("shape must be a vector of {int32,int64}, got shape %v", t.Shape)
	}
	return c.integers("shape", t)
}

// keyed reads the key and the counter of a stateless op.
func (d drawing) keyed(c call, _ uint64) (kernels.Rand, error) {
	key, counter, alg := d.in(c, "key"), d.in(c, "counter"), d.in(c, "alg")
	if alg.DType != tensor.Int32 || len(alg.Shape) != 0 {
		return kernels.Rand{}, fmt.Errorf("alg: expected an int32 scalar, got %v of shape %v", alg.DType, alg.Shape)
	}
	if a := tensor.Values[int32](alg)[0]; a != philox && a != automatic {
		return kernels.Rand{}, fmt.Errorf("algorithm %d %w: expected 1, Philox", a, ErrUnsupported)
	}
	if key.DType != tensor.Uint64 || counter.DType != tensor.Uint64 || len(key.Shape) != 1 || len(counter.Shape) != 1 || key.Shape[0] != 1 || counter.Shape[0] < 2 {
		return kernels.Rand{}, fmt.Errorf("expected a key of shape [1] and a counter of shape [2] of uint64, got shapes %v and %v", key.Shape, counter.Shape)
	}
	n := tensor.Values[uint64](counter)
	return kernels.Rand{Key: tensor.Values[uint64](key)[0], Counter: [2]uint64{n[0], n[1]}}, nil
}

// TensorFlow's numbers for algorithms.
const (
	philox    = 1
	automatic = 3
)

// seeded returns the stream of a seed of two integers.
func seeded(seed *tensor.Tensor) (kernels.Rand, error) {
	v, err := vector("seed", seed)
	if err != nil || len(v) != 2 {
		return kernels.Rand{}, fmt.Errorf("seed must have shape [2], not %v", seed.Shape)
	}
	return kernels.Scrambled([2]uint64{uint64(v[0]), uint64(v[1])}), nil
}

// keyAndCounter outputs the key and the counter for a seed, and also the algorithm if the op has such an output.
func keyAndCounter(c call) error {
	r, err := seeded(c.t(0))
	if err != nil {
		return err
	}
	key, err := outputOf[uint64](c, 0, 1)
	if err != nil {
		return err
	}
	counter, err := outputOf[uint64](c, 1, 2)
	if err != nil {
		return err
	}
	key[0], counter[0], counter[1] = r.Key, r.Counter[0], r.Counter[1]
	if len(c.out) > 2 {
		c.set(2, tensor.Scalar(int32(philox)))
	}
	return nil
}

func algorithm(c call) error {
	c.set(0, tensor.Scalar(int32(philox)))
	return nil
}
