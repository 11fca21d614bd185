package eager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// parameter returns a bounded distribution's parameter for row i: t has one for all, or one per row.
func parameter[T kernels.Float](t *tensor.Tensor, i int) T {
	if t.Len() == 1 {
		i = 0
	}
	return tensor.Values[T](t)[i]
}

// drawBounded draws normals between bounds that may differ by row. The numbers are TensorFlow's if it does not split the rows between threads.
func drawBounded(d drawing, c call) error {
	shape, err := d.shape(c)
	if err != nil {
		return err
	}
	names := []string{"means", "stdevs", "minvals", "maxvals"}
	if d.op.Input("stdevs") < 0 {
		names[1] = "stddevs"
	}
	p := make([]*tensor.Tensor, len(names))
	for i, name := range names {
		p[i] = d.in(c, name)
	}
	out, err := c.output(0, d.dtype, shape...)
	if err != nil || out.Len() == 0 {
		return err
	}
	if len(shape) == 0 {
		return fmt.Errorf("Shape tensor must not be empty")
	}
	batch := out.Len() / shape[0]
	batches := shape[0]
	if !slices.ContainsFunc(p, func(t *tensor.Tensor) bool { return t.Len() != 1 }) && len(p[2].Shape) == 0 && len(p[3].Shape) == 0 {
		batches, batch = (out.Len()+99)/100, 100
	}
	for i, t := range p {
		if err := want(names[i], t, d.dtype); err != nil {
			return err
		}
		if len(t.Shape) > 1 || t.Len() != 1 && t.Len() != batches {
			return fmt.Errorf("Input %s should have length 1 or shape[0], got shape: %v", names[i], t.Shape)
		}
	}
	r, err := d.from(c, uint64(batches)*2*kernels.BoundedTries*uint64(batch+3)/4)
	if err != nil {
		return err
	}
	return boundedRows(c, out, r, batch, p)
}

// boundedRows fills rows of n numbers each; the last row may be shorter.
func boundedRows(c call, out *tensor.Tensor, r kernels.Rand, n int, p []*tensor.Tensor) error {
	switch out.DType {
	case tensor.Float32:
		return boundedOf[float32](c, out, r, n, p)
	case tensor.Float64:
		return boundedOf[float64](c, out, r, n, p)
	}
	return fmt.Errorf("type %v %w", out.DType, ErrUnsupported)
}

func boundedOf[T kernels.Float](c call, out *tensor.Tensor, r kernels.Rand, n int, p []*tensor.Tensor) error {
	dst, d := tensor.Values[T](out), kernels.NewBounded[T](r)
	for row := 0; len(dst) > 0; row++ {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		b := kernels.Bounds[T]{Mean: parameter[T](p[0], row), Dev: parameter[T](p[1], row), Min: parameter[T](p[2], row), Max: parameter[T](p[3], row)}
		k := min(n, len(dst))
		if !d.Fill(dst[:k], b) {
			return errors.New("Invalid parameters")
		}
		dst = dst[k:]
	}
	return nil
}
