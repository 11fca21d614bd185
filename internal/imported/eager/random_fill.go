package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

func drawUniform(d drawing, c call) error {
	if d.dtype.Half() {
		bits := map[tensor.DType]int{tensor.Float16: 10, tensor.BFloat16: 7}[d.dtype]
		return d.fill(c, func(dst []float32, r kernels.Rand) { kernels.UniformBits(dst, r, bits) }, nil)
	}
	return d.fill(c, kernels.Uniform[float32], kernels.Uniform[float64])
}

func drawNormal(d drawing, c call) error {
	return d.fill(c, kernels.Normal[float32], kernels.Normal[float64])
}

func drawTruncated(d drawing, c call) error {
	return d.fill(c, kernels.TruncatedNormal[float32], kernels.TruncatedNormal[float64])
}

// fill draws floats of any type. Like TensorFlow, it draws half and bfloat16 as float32, and rounds.
func (d drawing) fill(c call, f32 func([]float32, kernels.Rand), f64 func([]float64, kernels.Rand)) error {
	shape, err := d.shape(c)
	if err != nil {
		return err
	}
	out, err := c.output(0, d.dtype, shape...)
	if err != nil {
		return err
	}
	wide := out
	switch d.dtype {
	case tensor.Float32, tensor.Float64:
	case tensor.Float16, tensor.BFloat16:
		if wide, err = c.alloc(tensor.Float32, shape...); err != nil {
			return err
		}
	default:
		return fmt.Errorf("type %v %w", d.dtype, ErrUnsupported)
	}
	r, err := d.reserve(c, out.Len())
	if err != nil || out.Len() == 0 {
		return err
	}
	if d.dtype == tensor.Float64 {
		f64(tensor.Values[float64](out), r)
		return nil
	}
	f32(tensor.Values[float32](wide), r)
	if wide != out {
		return recast(out, wide)
	}
	return nil
}

// drawBetween draws integers in [minval, maxval).
func drawBetween(d drawing, c call) error {
	switch d.dtype {
	case tensor.Int32:
		return drawRange[int32](d, c)
	case tensor.Int64:
		return drawRange[int64](d, c)
	case tensor.Uint32:
		return drawRange[uint32](d, c)
	case tensor.Uint64:
		return drawRange[uint64](d, c)
	}
	return fmt.Errorf("type %v %w", d.dtype, ErrUnsupported)
}

func drawRange[T kernels.RandomInt](d drawing, c call) error {
	lo, hi := d.in(c, "minval"), d.in(c, "maxval")
	for _, t := range []*tensor.Tensor{lo, hi} {
		if t.DType != d.dtype || len(t.Shape) != 0 {
			return fmt.Errorf("minval and maxval must be 0-D, got shapes %v and %v", lo.Shape, hi.Shape)
		}
	}
	a, b := tensor.Values[T](lo)[0], tensor.Values[T](hi)[0]
	shape, err := d.shape(c)
	if err != nil {
		return err
	}
	dst, err := outputOf[T](c, 0, shape...)
	if err != nil || len(dst) == 0 {
		return err
	}
	if a >= b {
		return fmt.Errorf("Need minval < maxval, got %v >= %v", a, b)
	}
	r, err := d.reserve(c, len(dst))
	if err == nil {
		kernels.UniformInts(dst, r, a, b)
	}
	return err
}

// drawInts draws integers of random bits.
func drawInts(d drawing, c call) error {
	switch d.dtype {
	case tensor.Int32:
		return drawAll[int32](d, c)
	case tensor.Int64:
		return drawAll[int64](d, c)
	case tensor.Uint32:
		return drawAll[uint32](d, c)
	case tensor.Uint64:
		return drawAll[uint64](d, c)
	}
	return fmt.Errorf("type %v %w", d.dtype, ErrUnsupported)
}

func drawAll[T kernels.RandomInt](d drawing, c call) error {
	shape, err := d.shape(c)
	if err != nil {
		return err
	}
	dst, err := outputOf[T](c, 0, shape...)
	if err != nil {
		return err
	}
	r, err := d.reserve(c, len(dst))
	if err == nil {
		kernels.Ints(dst, r)
	}
	return err
}
