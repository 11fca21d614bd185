package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/fourier"
	"github.com/goestimator/goestimator/tensor"
)

// fourierOps are Fourier transforms of the last one, two or three dimensions.
var fourierOps = map[*ops.Def]maker{
	ops.FFT: fourierOf(1, false), ops.FFT2D: fourierOf(2, false), ops.FFT3D: fourierOf(3, false),
	ops.IFFT: fourierOf(1, true), ops.IFFT2D: fourierOf(2, true), ops.IFFT3D: fourierOf(3, true),
	ops.BatchFFT: fourierOf(1, false), ops.BatchFFT2D: fourierOf(2, false), ops.BatchFFT3D: fourierOf(3, false),
	ops.BatchIFFT: fourierOf(1, true), ops.BatchIFFT2D: fourierOf(2, true), ops.BatchIFFT3D: fourierOf(3, true),
	ops.RFFT: plain(fourierOfReal(1)), ops.RFFT2D: plain(fourierOfReal(2)), ops.RFFT3D: plain(fourierOfReal(3)),
	ops.IRFFT: plain(fourierToReal(1)), ops.IRFFT2D: plain(fourierToReal(2)), ops.IRFFT3D: plain(fourierToReal(3)),
}

// waves has complex numbers of a shape, some of whose last dimensions are transformed.
type waves struct {
	c     call
	shape []int
	v     []complex128
}

// newWaves allocates complex numbers of a shape, and pays for them.
func newWaves(c call, shape []int) (waves, error) {
	n, err := elements(shape)
	if err == nil {
		err = c.room(n, 16)
	}
	if err != nil {
		return waves{}, err
	}
	return waves{c, shape, make([]complex128, n)}, nil
}

// along transforms the lines of dimension k.
func (w waves) along(k int, inverse bool) error {
	l := laneOf(w.shape, k)
	if l.n == 0 || len(w.v) == 0 {
		return nil
	}
	if err := w.c.room(fourier.Bytes(l.n)+16*l.n, 1); err != nil {
		return err
	}
	worker, line := fourier.NewPlan(l.n).Worker(), make([]complex128, l.n)
	ended := false
	l.each(func(_, first int) {
		if ended = ended || w.c.ctx.Err() != nil; ended {
			return
		}
		for i := range line {
			line[i] = w.v[first+i*l.inner]
		}
		if inverse {
			worker.Inverse(line)
		} else {
			worker.Forward(line)
		}
		for i, v := range line {
			w.v[first+i*l.inner] = v
		}
	})
	return w.c.ctx.Err()
}

// all transforms the last dims dimensions, except the last one if that is transformed differently.
func (w waves) all(dims int, inverse bool) error {
	for k := len(w.shape) - dims; k < len(w.shape); k++ {
		if err := w.along(k, inverse); err != nil {
			return err
		}
	}
	return nil
}

// fill copies t, cropped or padded with zeros to the shape.
func (w waves) fill(t *tensor.Tensor) error {
	part := slices.Clone(w.shape)
	for i, d := range t.Shape {
		part[i] = min(part[i], d)
	}
	wide, err := t, error(nil)
	if t.DType != tensor.Complex128 {
		if wide, err = recastTo(w.c, t, tensor.Complex128); err != nil {
			return err
		}
	}
	if product(part) == 0 {
		return nil
	}
	copyBoxOf(box{part, contiguous(w.shape).steps, contiguous(t.Shape).steps}, w.v, tensor.Values[complex128](wide), 0)
	return nil
}

// output sets output 0 to the numbers, as complex64 or complex128.
func (w waves) output(d tensor.DType) error {
	all := &tensor.Tensor{DType: tensor.Complex128, Shape: w.shape}
	if len(w.v) > 0 {
		var err error
		if all, err = tensor.FromSlice(w.v, w.shape...); err != nil {
			return err
		}
	}
	out, err := recastTo(w.c, all, d)
	if err != nil {
		return err
	}
	w.c.set(0, out)
	return nil
}

func fourierOf(dims int, inverse bool) maker {
	return plain(func(c call) error {
		t := c.t(0)
		if !isComplex(t.DType) || len(t.Shape) < dims {
			return fmt.Errorf("Input must have rank of at least %d and be complex but got: %v of shape %s", dims, t.DType, shapeText(t.Shape))
		}
		w, err := newWaves(c, t.Shape)
		if err != nil {
			return err
		}
		if err := w.fill(t); err != nil {
			return err
		}
		if err := w.all(dims, inverse); err != nil {
			return err
		}
		return w.output(t.DType)
	})
}

// fourierShape returns the shape of input 0 with the transformed dimensions replaced by input 1.
func fourierShape(c call, dims int) ([]int, error) {
	t := c.t(0)
	if len(t.Shape) < dims {
		return nil, fmt.Errorf("Input must have rank of at least %d but got: %s", dims, shapeText(t.Shape))
	}
	lengths, err := c.vector("fft_length", c.t(1))
	if err != nil {
		return nil, err
	}
	if len(lengths) != dims || c.t(1).DType != tensor.Int32 {
		return nil, fmt.Errorf("fft_length must have shape [%d] and be of int32", dims)
	}
	shape := slices.Clone(t.Shape)
	copy(shape[len(shape)-dims:], lengths)
	_, err = elements(shape)
	return shape, err
}

// covers fails if a dimension is too short for a transform, or if the transform, or its last dimension alone, is empty. It accepts any
// empty input.
func covers(have, need []int, dims int, real bool) error {
	if last := len(need) - 1; need[last] == 0 && product(have) > 0 && (real || product(need[len(need)-dims:last]) > 0) {
		return fmt.Errorf("fft_length must not be 0 for an input of shape %s", shapeText(have))
	}
	for i := len(have) - dims; i < len(have); i++ {
		if have[i] < need[i] && have[i] > 0 {
			return fmt.Errorf("Input dimension %d must have length of at least %d but got: %d", i, need[i], have[i])
		}
	}
	return nil
}

func fourierOfReal(dims int) kernel {
	return func(c call) error {
		t := c.t(0)
		if t.DType != tensor.Float32 && t.DType != tensor.Float64 {
			return fmt.Errorf("input: expected type float32 or float64, got %v", t.DType)
		}
		shape, err := fourierShape(c, dims)
		if err != nil {
			return err
		}
		if err := covers(t.Shape, shape, dims, true); err != nil {
			return err
		}
		half := slices.Clone(shape)
		last := len(half) - 1
		if half[last] > 0 {
			half[last] = half[last]/2 + 1
		}
		if t.Len() == 0 {
			return emptyWaves(c, half)
		}
		w, err := newWaves(c, shape)
		if err != nil {
			return err
		}
		if err := w.fill(t); err != nil {
			return err
		}
		if err := w.all(dims, false); err != nil {
			return err
		}
		kept, err := newWaves(c, half)
		if err != nil {
			return err
		}
		for i := 0; half[last] > 0 && i*half[last] < len(kept.v); i++ {
			copy(kept.v[i*half[last]:(i+1)*half[last]], w.v[i*shape[last]:])
		}
		return kept.output(counterpart(t.DType))
	}
}

// emptyWaves sets output 0 for an empty input to zeros, as nothing is transformed. TensorFlow leaves uninitialized memory there.
func emptyWaves(c call, shape []int) error {
	_, err := c.output(0, counterpart(c.t(0).DType), shape...)
	return err
}

// counterpart returns the complex type for a float type, and vice versa.
func counterpart(d tensor.DType) tensor.DType {
	return map[tensor.DType]tensor.DType{tensor.Float32: tensor.Complex64, tensor.Float64: tensor.Complex128, tensor.Complex64: tensor.Float32, tensor.Complex128: tensor.Float64}[d]
}

func fourierToReal(dims int) kernel {
	return func(c call) error {
		t := c.t(0)
		if !isComplex(t.DType) {
			return fmt.Errorf("input: expected type complex64 or complex128, got %v", t.DType)
		}
		shape, err := fourierShape(c, dims)
		if err != nil {
			return err
		}
		last := len(shape) - 1
		half := slices.Clone(shape)
		if half[last] > 0 {
			half[last] = half[last]/2 + 1
		}
		if err := covers(t.Shape, half, dims, false); err != nil {
			return err
		}
		if t.Len() == 0 {
			return emptyWaves(c, shape)
		}
		w, err := newWaves(c, half)
		if err != nil {
			return err
		}
		if err := w.fill(t); err != nil {
			return err
		}
		for k := len(shape) - dims; k < last; k++ {
			if err := w.along(k, true); err != nil {
				return err
			}
		}
		return w.mirrored(shape)
	}
}

// mirrored completes the last dimension from its half, and sets output 0 to the inverse transform, which is real.
func (w waves) mirrored(shape []int) error {
	full, err := newWaves(w.c, shape)
	if err != nil {
		return err
	}
	n, h := shape[len(shape)-1], w.shape[len(shape)-1]
	for i := 0; n > 0 && i*n < len(full.v); i++ {
		line, half := full.v[i*n:(i+1)*n], w.v[i*h:(i+1)*h]
		copy(line, half)
		for k := h; k < n; k++ {
			line[k] = complex(real(half[n-k]), -imag(half[n-k]))
		}
	}
	if err := full.along(len(shape)-1, true); err != nil {
		return err
	}
	return full.output(counterpart(w.c.t(0).DType))
}
