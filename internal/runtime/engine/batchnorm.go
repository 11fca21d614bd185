package engine

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// normOps are batch normalization over all dimensions but the last.
var normOps = map[*ops.Def]opDef{
	ops.FusedBatchNormEx:     {compile: floats(compileBatchNorm[float32], compileBatchNorm[float64])},
	ops.FusedBatchNormV3:     {compile: floats(compileBatchNorm[float32], compileBatchNorm[float64])},
	ops.FusedBatchNormGradV3: {compile: floats(compileBatchNormGrad[float32], compileBatchNormGrad[float64])},
}

// perChannel checks that the given values are vectors of x's channels and of its type.
func perChannel(x *value, vs ...*value) error {
	if len(x.dims) < 2 {
		return fmt.Errorf("expected rank >= 2, got shape %v", x.typ.Shape)
	}
	want := graph.Shape{Dims: x.typ.Shape.Dims[len(x.dims)-1:]}
	for _, v := range vs {
		if !v.typ.Shape.Equal(want) || v.typ.DType != x.typ.DType {
			return fmt.Errorf("expected %v %v for the channels of %v, got %v %v", x.typ.DType, want, x.typ.Shape, v.typ.DType, v.typ.Shape)
		}
	}
	return nil
}

// batchNorm holds what the forward op needs between its stages.
type batchNorm[T kernels.Float] struct {
	in, out      []*value
	epsilon      float64
	factor       float64 // exponential_avg_factor
	scale, shift []T
	center       []T    // mean of what is scaled and shifted: x or, if means are far from 0, x-mean
	from         []T    // what is scaled and shifted, for addRows
	relu         bool   // activation_mode of the fused op
	add          *value // its side input, nil for none
	blocks       func(n int)
}

// compileBatchNorm takes x, scale, offset, mean, variance and gives y, mean, variance (with Bessel's correction) and
// the reserves: mean, plain variance, and an unused one.
func compileBatchNorm[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(5, 6); err != nil {
		return nil, err
	}
	training := c.node.Bool("is_training")
	stats := c.in[1:5]
	if training && c.node.Float("exponential_avg_factor", 1) == 1 {
		stats = c.in[1:3] // mean and variance are not read; they may be empty
	}
	if err := perChannel(c.in[0], append(append([]*value(nil), stats...), c.out[1:5]...)...); err != nil {
		return nil, err
	}
	n := c.in[1].typ.Shape.ElementsAt(1)
	b := &batchNorm[T]{in: c.in, out: c.out, epsilon: float64(c.node.Float("epsilon", 1e-4)),
		factor: float64(c.node.Float("exponential_avg_factor", 1)), scale: make([]T, n), shift: make([]T, n), center: make([]T, n), relu: c.node.Str("activation_mode") == "Relu"}
	if err := errors.Join(checkTypes[T](c.in[0], c.out[0]), checkShape("result", c.out[0], c.in[0].typ.Shape.Dims), c.channelsLast()); err != nil {
		return nil, err
	}
	if c.node.Int("num_side_inputs", 0) > 0 {
		if len(c.in) != 6 || !sameType(c.in[5].typ, c.out[0].typ) {
			return nil, fmt.Errorf("num_side_inputs: expected one more input of type %v and shape %v", c.out[0].typ.DType, c.out[0].typ.Shape)
		}
		b.add, b.blocks = c.in[5], parallel(max(1, blockElements/max(1, n)), b.addRows)
	}
	if training {
		return b.train, nil
	}
	return b.infer, nil
}

func (b *batchNorm[T]) train() error {
	x := view[T](b.in[0])
	rows, cols := rowsCols(b.in[0])
	mean, variance := view[T](b.out[3]), view[T](b.out[4])
	kernels.ColSum(mean, x, rows, cols)
	kernels.BinaryScalar(kernels.Div, mean, mean, T(rows))
	kernels.ColSumCentered(variance, x, mean, rows, cols)
	kernels.BinaryScalar(kernels.Div, variance, variance, T(rows))
	b.normalize(mean, variance, rows)
	bessel := float64(rows) / math.Max(float64(rows-1), 1)
	b.average(view[T](b.out[1]), b.in[3], mean, 1)
	b.average(view[T](b.out[2]), b.in[4], variance, bessel)
	clear(b.out[5].bytes())
	return nil
}

// average sets dst to now*k, or to the moving average of now*k and the old value.
func (b *batchNorm[T]) average(dst []T, old *value, now []T, k float64) {
	for i, e := range now {
		v := float64(e) * k
		if b.factor != 1 {
			v = (1-b.factor)*float64(view[T](old)[i]) + b.factor*v
		}
		dst[i] = T(v)
	}
}

func (b *batchNorm[T]) infer() error {
	mean, variance := view[T](b.in[3]), view[T](b.in[4])
	b.normalize(mean, variance, 0)
	for i, src := range [][]T{mean, variance, mean, variance} {
		copy(view[T](b.out[1+i]), src)
	}
	clear(b.out[5].bytes())
	return nil
}

// farMean is the number of standard deviations from which a mean is far from 0. Then x*scale and mean*scale are large numbers
// whose difference loses digits, so x-mean is computed first, as TensorFlow always does.
const farMean = 4

// far reports whether some mean is far from 0.
func far[T kernels.Float](mean, variance []T, epsilon float64) bool {
	for i, m := range mean {
		if e := float64(m); e*e > farMean*farMean*(float64(variance[i])+epsilon) {
			return true
		}
	}
	return false
}

// centered sets y = x-mean.
func centered[T kernels.Float](y, x, mean, negative []T) {
	for i, m := range mean {
		negative[i] = -m
	}
	kernels.ScaleShift(y, x, nil, negative, false)
}

// fitted returns s with n elements, one for each channel. The number of channels may depend on the batch size.
func fitted[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// normalize sets y = (x-mean)/sqrt(variance+epsilon)*gamma + beta. If rows is not 0, mean and variance are the batch's own,
// and normalize corrects their rounding error where means are far from 0.
func (b *batchNorm[T]) normalize(mean, variance []T, rows int) {
	x, y := view[T](b.in[0]), view[T](b.out[0])
	n := len(mean)
	b.scale, b.shift, b.center = fitted(b.scale, n), fitted(b.shift, n), fitted(b.center, n)
	away := far(mean, variance, b.epsilon)
	if away {
		centered(y, x, mean, b.center)
		x = y
		clear(b.center)
		if rows > 0 {
			b.correct(mean, variance, rows)
		}
	} else {
		copy(b.center, mean)
	}
	gamma, beta := view[T](b.in[1]), view[T](b.in[2])
	for i := range b.scale {
		s := float64(gamma[i]) / math.Sqrt(float64(variance[i])+b.epsilon)
		b.scale[i] = T(s)
		b.shift[i] = T(float64(beta[i]) - float64(b.center[i])*s)
	}
	if b.add != nil {
		b.from = x
		rows, _ := rowsCols(b.in[0])
		b.blocks(rows)
		return
	}
	kernels.ScaleShift(y, x, b.scale, b.shift, b.relu)
}

// correct sets center to the mean of y, which is x minus a rounded mean, adds it to mean, and recomputes variance.
func (b *batchNorm[T]) correct(mean, variance []T, rows int) {
	y, cols := view[T](b.out[0]), len(mean)
	kernels.ColSum(b.center, y, rows, cols)
	kernels.BinaryScalar(kernels.Div, b.center, b.center, T(rows))
	kernels.ColSumCentered(variance, y, b.center, rows, cols)
	kernels.BinaryScalar(kernels.Div, variance, variance, T(rows))
	kernels.Binary(kernels.Add, mean, mean, b.center)
}

// addRows sets rows of y with the side input, in blocks that stay in the L1 cache.
func (b *batchNorm[T]) addRows(lo, hi int) {
	cols := len(b.shift)
	block := max(1, blockElements/max(1, cols))
	y, x, add := view[T](b.out[0]), b.from, view[T](b.add)
	for ; lo < hi; lo += block {
		from, to := lo*cols, min(lo+block, hi)*cols
		d := y[from:to]
		kernels.ScaleShift(d, x[from:to], b.scale, b.shift, false)
		kernels.Binary(kernels.Add, d, d, add[from:to])
		if b.relu {
			kernels.Unary(kernels.Relu, d, d)
		}
	}
}

// batchNormGrad holds what the gradient needs between its stages.
type batchNormGrad[T kernels.Float] struct {
	in, out []*value
	epsilon float64
	coef    [3][]T

	negative []T // negative means, for x-mean where means are far from 0
}

// compileBatchNormGrad takes dy, x, scale, reserve_1 (mean), reserve_2 (variance), reserve_3 and gives dx, dscale,
// doffset and two unused reserves.
func compileBatchNormGrad[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(5, 3); err != nil {
		return nil, err
	}
	if err := perChannel(c.in[1], append(append([]*value(nil), c.in[2:5]...), c.out[1:3]...)...); err != nil {
		return nil, err
	}
	if !c.in[0].typ.Shape.Equal(c.in[1].typ.Shape) || !c.out[0].typ.Shape.Equal(c.in[1].typ.Shape) {
		return nil, fmt.Errorf("expected gradients of shape %v, got %v and %v", c.in[1].typ.Shape, c.in[0].typ.Shape, c.out[0].typ.Shape)
	}
	n := c.in[2].typ.Shape.ElementsAt(1)
	b := &batchNormGrad[T]{in: c.in, out: c.out, epsilon: float64(c.node.Float("epsilon", 1e-4)), coef: [3][]T{make([]T, n), make([]T, n), make([]T, n)},
		negative: make([]T, n)}
	if err := errors.Join(checkTypes[T](c.in[0], c.in[1], c.out[0]), c.channelsLast()); err != nil {
		return nil, err
	}
	training := c.node.Bool("is_training")
	return func() error {
		b.run(training)
		for _, v := range b.out[3:] {
			clear(v.bytes())
		}
		return nil
	}, nil
}

func (b *batchNormGrad[T]) run(training bool) {
	dy, x := view[T](b.in[0]), view[T](b.in[1])
	gamma, mean, variance := view[T](b.in[2]), view[T](b.in[3]), view[T](b.in[4])
	dgamma, dbeta := view[T](b.out[1]), view[T](b.out[2])
	rows, cols := rowsCols(b.in[1])
	for i, c := range b.coef {
		b.coef[i] = fitted(c, cols)
	}
	b.negative = fitted(b.negative, cols)
	kernels.ColSum(dbeta, dy, rows, cols)
	kernels.ColDotCentered(dgamma, dy, x, mean, rows, cols)
	n, away := float64(rows), training && far(mean, variance, b.epsilon)
	for i := range dgamma {
		std := math.Sqrt(float64(variance[i]) + b.epsilon)
		dot, g, m := float64(dgamma[i]), float64(gamma[i]), float64(mean[i])
		dgamma[i] = T(dot / std)
		b.coef[0][i], b.coef[1][i], b.coef[2][i] = T(g/std), 0, 0
		if training {
			k := -g * dot / (n * std * std * std)
			if b.coef[1][i] = T(k); away {
				m = 0
			}
			b.coef[2][i] = T(-g/std*float64(dbeta[i])/n - k*m)
		}
	}
	if !training { // x, which may be infinite, is not used
		kernels.ScaleShift(view[T](b.out[0]), dy, b.coef[0], b.coef[2], false)
		return
	}
	dx := view[T](b.out[0])
	if away {
		centered(dx, x, mean, b.negative)
		x = dx
	}
	kernels.BatchNormGrad(dx, dy, x, b.coef)
}
