package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// gradientOps are the ops in TensorFlow's gradients of training graphs.
var gradientOps = map[*ops.Def]maker{
	ops.ReluGrad:                      plain(floats(derivative(reluGrad[float32]), derivative(reluGrad[float64])).on(0)),
	ops.Relu6Grad:                     plain(floats(derivative(relu6Grad[float32]), derivative(relu6Grad[float64])).on(0)),
	ops.LeakyReluGrad:                 leakyReluGrad,
	ops.EluGrad:                       plain(floats(derivative(eluGrad[float32]), derivative(eluGrad[float64])).on(0)),
	ops.SeluGrad:                      plain(floats(derivative(seluGrad[float32]), derivative(seluGrad[float64])).on(0)),
	ops.SoftplusGrad:                  plain(floats(derivative(softplusGrad[float32]), derivative(softplusGrad[float64])).on(0)),
	ops.SoftsignGrad:                  plain(floats(derivative(softsignGrad[float32]), derivative(softsignGrad[float64])).on(0)),
	ops.SigmoidGrad:                   plain(floats(derivative(sigmoidGrad[float32]), derivative(sigmoidGrad[float64])).on(0)),
	ops.TanhGrad:                      plain(floats(derivative(tanhGrad[float32]), derivative(tanhGrad[float64])).on(0)),
	ops.SqrtGrad:                      plain(floats(derivative(unlessFlat(sqrtGrad[float32])), derivative(unlessFlat(sqrtGrad[float64]))).on(0)),
	ops.RsqrtGrad:                     plain(floats(derivative(unlessFlat(rsqrtGrad[float32])), derivative(unlessFlat(rsqrtGrad[float64]))).on(0)),
	ops.ReciprocalGrad:                plain(floats(derivative(unlessFlat(reciprocalGrad[float32])), derivative(unlessFlat(reciprocalGrad[float64]))).on(0)),
	ops.InvGrad:                       plain(floats(derivative(unlessFlat(reciprocalGrad[float32])), derivative(unlessFlat(reciprocalGrad[float64]))).on(0)),
	ops.BiasAddGrad:                   biasAddGrad,
	ops.SoftmaxCrossEntropyWithLogits: plain(floats(denseCrossEntropy(kernels.LogSoftmax[float32]), denseCrossEntropy(kernels.LogSoftmax[float64])).on(0)),
	ops.BroadcastGradientArgs:         plain(broadcastGradientArgs),
}

// derivative is the kernel of a function of two tensors with the same shape.
func derivative[T float](f func(a, b T) T) kernel {
	k := pairs(f)
	return func(c call) error {
		if !slices.Equal(c.t(0).Shape, c.t(1).Shape) {
			return fmt.Errorf("expected inputs of one shape, got %v and %v", c.t(0).Shape, c.t(1).Shape)
		}
		return k(c)
	}
}

// The functions below take the gradient and the feature or, if TensorFlow's signature has the result first, the result and the gradient.

func reluGrad[T float](g, x T) T  { return g * passing[T](x > 0) }
func relu6Grad[T float](g, x T) T { return g * passing[T](x > 0 && x < 6) }

// passing is 1 or 0: multiplied by 0, infinities and NaN become NaN.
func passing[T float](yes bool) T {
	if yes {
		return 1
	}
	return 0
}

// unlessFlat is f, or 0 if the gradient is 0.
func unlessFlat[T float](f func(y, g T) T) func(y, g T) T {
	return func(y, g T) T {
		if g == 0 {
			return 0
		}
		return f(y, g)
	}
}

func leakyReluGrad(s *site) (kernel, error) {
	alpha := s.node.Float("alpha", 0.2)
	return floats(derivative(leak(alpha)), derivative(leak(float64(alpha)))).on(0), nil
}

func leak[T float](alpha T) func(g, x T) T {
	return func(g, x T) T {
		if x > 0 {
			return g
		}
		return g * alpha
	}
}

func eluGrad[T float](g, y T) T {
	if y < 0 {
		return (y + 1) * g
	}
	return g
}

func seluGrad[T float](g, y T) T {
	const scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
	if y < 0 {
		return g * (y + scale*alpha)
	}
	return g * scale
}

func softplusGrad[T float](g, x T) T { return g / (T(math.Exp(-float64(x))) + 1) }

func softsignGrad[T float](g, x T) T {
	d := 1 + T(math.Abs(float64(x)))
	return g / (d * d)
}

func sigmoidGrad[T float](y, g T) T    { return g * y * (1 - y) }
func tanhGrad[T float](y, g T) T       { return g * (1 - y*y) }
func sqrtGrad[T float](y, g T) T       { return g * 0.5 / y }
func rsqrtGrad[T float](y, g T) T      { return -0.5 * (g * y) * (y * y) }
func reciprocalGrad[T float](y, g T) T { return -(y * y) * g }

// biasAddGrad sums over all dimensions except the channels.
func biasAddGrad(s *site) (kernel, error) {
	first := s.str("data_format", "NHWC") == "NCHW"
	return floats(func(c call) error { return sumChannels[float32](c, first) }, func(c call) error { return sumChannels[float64](c, first) }).on(0), nil
}

func sumChannels[T float](c call, first bool) error {
	x := c.t(0)
	k := len(x.Shape) - 1
	if first {
		k = 1
	}
	if k < 1 || k >= len(x.Shape) {
		return fmt.Errorf("Input tensor must be at least 2D: %v", x.Shape)
	}
	n := x.Shape[k]
	sums, err := outputOf[T](c, 0, n)
	if err != nil || x.Len() == 0 {
		return err
	}
	if !first {
		kernels.ColSum(sums, tensor.Values[T](x), x.Len()/n, n)
		return nil
	}
	inner := product(x.Shape[k+1:])
	for i, v := range tensor.Values[T](x) {
		sums[i/inner%n] += v
	}
	return nil
}

// denseCrossEntropy returns the loss of each row of logits [N, classes], and its gradient; logits and labels are broadcast.
func denseCrossEntropy[T float](logSoftmax func(dst, x []T, rows, cols int)) kernel {
	return func(c call) error {
		x, labels := c.t(0), c.t(1)
		if err := sameType(c.in); err != nil {
			return err
		}
		shape, err := broadcastShape(x.Shape, labels.Shape)
		if err != nil || len(shape) != 2 {
			return fmt.Errorf("logits and labels must be broadcastable: logits_size=%v labels_size=%v", x.Shape, labels.Shape)
		}
		rows, cols := shape[0], shape[1]
		loss, err := outputOf[T](c, 0, rows)
		if err != nil {
			return err
		}
		grad, err := outputOf[T](c, 1, rows, cols)
		if err != nil || len(grad) == 0 {
			return err
		}
		wide, wanted := make([]T, len(grad)), spread(labels.Shape, shape).steps
		steps := spread(x.Shape, shape).steps
		for i := range wide {
			wide[i] = tensor.Values[T](x)[i/cols*steps[0]+i%cols*steps[1]]
		}
		logSoftmax(grad, wide, rows, cols)
		for i, v := range grad {
			y := tensor.Values[T](labels)[i/cols*wanted[0]+i%cols*wanted[1]]
			if y != 0 {
				loss[i/cols] -= y * v
			}
			grad[i] = T(math.Exp(float64(v))) - y
		}
		return nil
	}
}

// broadcastGradientArgs returns the dimensions to sum the gradients of two broadcast operands over.
func broadcastGradientArgs(c call) error {
	a, err := c.vector("s0", c.t(0))
	if err != nil {
		return err
	}
	b, err := c.vector("s1", c.t(1))
	if err != nil {
		return err
	}
	shape, err := broadcastShape(a, b)
	if err != nil {
		return err
	}
	over := func(own, other []int) (dims []int) {
		for i := range shape {
			k := i - (len(shape) - len(own))
			if k < 0 || own[k] == 1 && !slices.Equal(own, other) {
				dims = append(dims, i)
			}
		}
		return dims
	}
	da, db := over(a, b), over(b, a)
	if err := c.outputInts(0, c.t(0).DType, da, len(da)); err != nil {
		return err
	}
	return c.outputInts(1, c.t(0).DType, db, len(db))
}
