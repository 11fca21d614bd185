package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// normTraining has the attributes of a FusedBatchNorm that computes the moments of its batch.
type normTraining struct{ epsilon, factor float64 }

// channelsOf checks the image of a batch normalization, and vectors with one element per channel.
func channelsOf(x *tensor.Tensor, vectors ...*tensor.Tensor) (int, error) {
	if x.DType != tensor.Float32 {
		return 0, fmt.Errorf("type %v %w", x.DType, ErrUnsupported)
	}
	if len(x.Shape) != 4 && len(x.Shape) != 5 {
		return 0, fmt.Errorf("input must be 4 or 5-dimensional, got shape %v", x.Shape)
	}
	n := x.Shape[len(x.Shape)-1]
	for i, v := range vectors {
		if v.DType != tensor.Float32 || !slices.Equal(v.Shape, []int{n}) {
			return 0, fmt.Errorf("parameter %d: expected float32 of shape [%d], got %v of shape %v", i, n, v.DType, v.Shape)
		}
	}
	return n, nil
}

// run normalizes a batch by its own moments. The running moments, which are inputs unless factor is 1, move towards them.
func (a normTraining) run(c call) error {
	x, scale, offset := c.t(0), c.t(1), c.t(2)
	running := []*tensor.Tensor{c.t(3), c.t(4)}
	if a.factor == 1 {
		running = nil
	}
	n, err := channelsOf(x, append([]*tensor.Tensor{scale, offset}, running...)...)
	if err != nil {
		return err
	}
	y, err := outputOf[float32](c, 0, x.Shape...)
	if err != nil {
		return err
	}
	var moments [4][]float32
	for i := range moments {
		if moments[i], err = outputOf[float32](c, i+1, n); err != nil {
			return err
		}
	}
	if len(c.out) > 5 {
		c.set(5, tensor.New(tensor.Float32, 0))
	}
	if len(y) == 0 {
		return noMoments(c, n)
	}
	if err := c.room(n, 16); err != nil {
		return err
	}
	in := tensor.Values[float32](x)
	mean, variance := batchMoments(in, n)
	rows := len(in) / n
	unbiased := float64(rows) / float64(max(rows-1, 1))
	for j := range n {
		moments[0][j], moments[1][j] = float32(mean[j]), float32(variance[j]*unbiased)
		moments[2][j], moments[3][j] = float32(mean[j]), float32(variance[j])
		if running != nil {
			moments[0][j] = float32((1-a.factor)*float64(tensor.Values[float32](running[0])[j]) + a.factor*mean[j])
			moments[1][j] = float32((1-a.factor)*float64(tensor.Values[float32](running[1])[j]) + a.factor*variance[j]*unbiased)
		}
	}
	s, o := tensor.Values[float32](scale), tensor.Values[float32](offset)
	for j := range n {
		by, m := s[j]*float32(1/math.Sqrt(variance[j]+a.epsilon)), float32(mean[j])
		for i := j; i < len(in); i += n {
			y[i] = (in[i]-m)*by + o[j]
		}
	}
	return nil
}

// noMoments returns the mean and variance of a batch without elements.
func noMoments(c call, n int) error {
	for i := 1; i <= 2; i++ {
		m, err := outputOf[float32](c, i, n)
		if err != nil {
			return err
		}
		for j := range m {
			m[j] = float32(math.NaN())
		}
	}
	return nil
}

// batchMoments returns the mean and the variance of each of n channels.
func batchMoments(x []float32, n int) (mean, variance []float64) {
	mean, variance = make([]float64, n), make([]float64, n)
	rows := float64(len(x) / n)
	for i := 0; i < len(x); i += n {
		for j, v := range x[i : i+n] {
			mean[j] += float64(v)
		}
	}
	for j := range mean {
		mean[j] /= rows
	}
	for i := 0; i < len(x); i += n {
		for j, v := range x[i : i+n] {
			d := float64(v) - mean[j]
			variance[j] += d * d
		}
	}
	for j := range variance {
		variance[j] /= rows
	}
	return mean, variance
}

// batchNormGrad takes the gradient of the result, the image, the scale and the moments used for normalization.
func batchNormGrad(s *site) (kernel, error) {
	epsilon, training := float64(s.node.Float("epsilon", 1e-4)), s.boolean("is_training", true)
	return s.inLayout(func(c call) error {
		dy, x := c.t(0), c.t(1)
		n, err := channelsOf(x, c.t(2), c.t(3), c.t(4))
		if err != nil {
			return err
		}
		if err := fits("y_backprop", dy, x.Shape); err != nil || dy.DType != x.DType {
			return fmt.Errorf("y_backprop of %v and shape %v does not fit x of %v and shape %v", dy.DType, dy.Shape, x.DType, x.Shape)
		}
		dx, err := outputOf[float32](c, 0, x.Shape...)
		if err != nil {
			return err
		}
		var sums [2][]float32
		for i := range sums {
			if sums[i], err = outputOf[float32](c, i+1, n); err != nil {
				return err
			}
		}
		c.set(3, tensor.New(tensor.Float32, 0))
		c.set(4, tensor.New(tensor.Float32, 0))
		if len(dx) == 0 {
			return nil
		}
		g, in := tensor.Values[float32](dy), tensor.Values[float32](x)
		scale, mean, variance := tensor.Values[float32](c.t(2)), tensor.Values[float32](c.t(3)), tensor.Values[float32](c.t(4))
		rows := float64(len(in) / n)
		for j := range n {
			var total, product float64
			for i := j; i < len(in); i += n {
				total += float64(g[i])
				product += float64(g[i]) * float64(in[i]-mean[j])
			}
			root := 1 / math.Sqrt(float64(variance[j])+epsilon)
			sums[0][j], sums[1][j] = float32(product*root), float32(total)
			by, back, slope := float32(float64(scale[j])*root), float32(total/rows), float32(root*root*product/rows)
			if !training {
				back, slope = 0, 0
			}
			for i := j; i < len(in); i += n {
				dx[i] = by * (g[i] - back - (in[i]-mean[j])*slope)
			}
		}
		return nil
	}, 0, 1)
}
