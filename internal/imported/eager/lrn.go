package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// localNorms has the attributes of a local response normalization.
type localNorms struct {
	radius            int
	bias, alpha, beta float32
}

func readLocalNorms(s *site) localNorms {
	return localNorms{s.count("depth_radius", 5, math.MaxInt32), s.node.Float("bias", 1), s.node.Float("alpha", 1), s.node.Float("beta", 0.5)}
}

// norms sets n to bias + alpha times the sum of squares around each element of a pixel.
func (l localNorms) norms(n, x []float32) {
	for j := range x {
		var sum float32
		for _, v := range x[max(j-l.radius, 0):min(j+l.radius+1, len(x))] {
			sum += v * v
		}
		n[j] = l.bias + l.alpha*sum
	}
}

func power(x, y float32) float32 { return float32(math.Pow(float64(x), float64(y))) }

// localNorm divides each element by a power of the sum of squares around it in its pixel.
func localNorm(s *site) (kernel, error) {
	l := readLocalNorms(s)
	return func(c call) error {
		x := c.t(0)
		if x.DType != tensor.Float32 || len(x.Shape) != 4 {
			return fmt.Errorf("in must be 4-dimensional float32, got %v of shape %v", x.DType, x.Shape)
		}
		y, err := outputOf[float32](c, 0, x.Shape...)
		if err != nil || len(y) == 0 {
			return err
		}
		in, d := tensor.Values[float32](x), x.Shape[3]
		for i := 0; i < len(y); i += d {
			l.norms(y[i:i+d], in[i:i+d])
			for j := i; j < i+d; j++ {
				y[j] = in[j] * power(y[j], -l.beta)
			}
		}
		return nil
	}, nil
}

func localNormGrad(s *site) (kernel, error) {
	l := readLocalNorms(s)
	return func(c call) error {
		g, x, y := c.t(0), c.t(1), c.t(2)
		if err := sameType(c.in); err != nil {
			return err
		}
		if x.DType != tensor.Float32 || len(x.Shape) != 4 {
			return fmt.Errorf("input_image must be 4-dimensional float32, got %v of shape %v", x.DType, x.Shape)
		}
		for _, t := range []*tensor.Tensor{g, y} {
			if err := fits("input_grads and output_image", t, x.Shape); err != nil {
				return err
			}
		}
		dx, err := outputOf[float32](c, 0, x.Shape...)
		if err != nil || len(dx) == 0 {
			return err
		}
		d := x.Shape[3]
		if err := c.room(d, 4); err != nil {
			return err
		}
		norms := make([]float32, d)
		for i := 0; i < len(dx); i += d {
			l.back(dx[i:i+d], norms, tensor.Values[float32](g)[i:i+d], tensor.Values[float32](x)[i:i+d], tensor.Values[float32](y)[i:i+d])
		}
		return nil
	}, nil
}

// back adds the gradient of a pixel to dx.
func (l localNorms) back(dx, norms, g, x, y []float32) {
	l.norms(norms, x)
	for j := range x {
		for k := max(j-l.radius, 0); k < min(j+l.radius+1, len(x)); k++ {
			v := -2 * l.alpha * l.beta * x[k] * y[j] / norms[j]
			if k == j {
				v += power(norms[j], -l.beta)
			}
			dx[k] += v * g[j]
		}
	}
}
