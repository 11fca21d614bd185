package eager

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

func drawGamma(d drawing, c call) error {
	return d.each(c, "alpha", func(r kernels.Rand, i int, alpha float64) (float64, error) {
		return kernels.Gamma(r, uint64(i), alpha), nil
	})
}

func drawPoisson(d drawing, c call) error {
	most, ok := map[tensor.DType]float64{tensor.Float16: 65504, tensor.Float32: math.MaxFloat32, tensor.Float64: math.MaxFloat64,
		tensor.Int32: math.MaxInt32, tensor.Int64: math.MaxInt64}[d.dtype]
	if !ok {
		return fmt.Errorf("numbers of type %v %w", d.dtype, ErrUnsupported)
	}
	name := "rate"
	if d.op.Input(name) < 0 {
		name = "lam"
	}
	return d.each(c, name, func(r kernels.Rand, i int, rate float64) (float64, error) {
		v, ok := kernels.Poisson(r, uint64(i), rate, most)
		if !ok {
			return 0, fmt.Errorf("%s: no number of type %v was found for %v", name, d.dtype, rate)
		}
		return v, nil
	})
}

// each draws a number for each element of the shape and each parameter; the parameters are the last dimensions.
func (d drawing) each(c call, name string, draw func(r kernels.Rand, i int, parameter float64) (float64, error)) error {
	parameters, err := doubles(c, d.in(c, name))
	if err != nil {
		return err
	}
	shape, err := d.shape(c)
	if err != nil {
		return err
	}
	if own := d.in(c, name).Shape; d.stateless() {
		err = endsWith(shape, own)
	} else {
		shape = append(shape, own...)
	}
	if err != nil {
		return err
	}
	n := product(shape)
	return d.places(c, shape, len(parameters), 256*uint64(n), func(r kernels.Rand, i, k int) (float64, error) { return draw(r, i, parameters[k]) })
}

// endsWith fails unless shape ends with the parameters' shape: the ops whose shape input is the whole result's shape require it.
func endsWith(shape, own []int) error {
	if k := len(shape) - len(own); k < 0 || !slices.Equal(shape[k:], own) {
		return fmt.Errorf("Shape passed in must end with broadcasted shape: %v does not end with %v", shape, own)
	}
	return nil
}

// places draws numbers of a shape that ends with n parameters. Stream number i is for parameter k; all numbers of one parameter are adjacent.
func (d drawing) places(c call, shape []int, n int, counters uint64, draw func(r kernels.Rand, i, k int) (float64, error)) error {
	out, err := c.output(0, d.dtype, shape...)
	if err != nil || out.Len() == 0 {
		return err
	}
	dst, done, err := inDoubles(c, out)
	if err != nil {
		return err
	}
	r, err := d.from(c, counters)
	if err != nil {
		return err
	}
	places := len(dst) / n
	for i := range dst {
		if i%4096 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if dst[i%places*n+i/places], err = draw(r, i, i/places); err != nil {
			return err
		}
	}
	return done()
}

// stateless reports whether an input is a seed or a key.
func (d drawing) stateless() bool { return d.op.Input("seed") >= 0 || d.op.Input("key") >= 0 }

// doubles returns the elements of a tensor as float64.
func doubles(c call, t *tensor.Tensor) (v []float64, err error) {
	if t.DType.Half() {
		if t, err = recastTo(c, t, tensor.Float32); err != nil {
			return nil, err
		}
	}
	if t.DType != tensor.Float64 {
		if t, err = recastTo(c, t, tensor.Float64); err != nil {
			return nil, err
		}
	}
	return tensor.Values[float64](t), nil
}

// inDoubles returns float64 room for t and a function that stores it. Types narrower than float32 are rounded to float32 first, as in TensorFlow.
func inDoubles(c call, t *tensor.Tensor) (dst []float64, store func() error, err error) {
	if t.DType == tensor.Float64 {
		return tensor.Values[float64](t), func() error { return nil }, nil
	}
	wide, err := c.alloc(tensor.Float64, t.Shape...)
	if err != nil {
		return nil, nil, err
	}
	return tensor.Values[float64](wide), func() error {
		if t.DType.Half() {
			if wide, err = recastTo(c, wide, tensor.Float32); err != nil {
				return err
			}
		}
		return recast(t, wide)
	}, nil
}

// drawClasses draws class numbers by their logits [rows, classes]. The rows share one stream, as in TensorFlow if it does not split
// them between threads.
func drawClasses(d drawing, c call) error {
	logits := d.in(c, "logits")
	n, err := integer("num_samples", d.in(c, "num_samples"))
	if err != nil {
		return err
	}
	if len(logits.Shape) != 2 || n < 0 {
		return fmt.Errorf("expected logits [rows, classes] and a number of samples of at least 0, got shape %v and %d", logits.Shape, n)
	}
	rows, classes := logits.Shape[0], logits.Shape[1]
	out, err := c.output(0, d.dtype, rows, n)
	if err != nil || out.Len() == 0 {
		return err
	}
	if classes == 0 {
		return fmt.Errorf("num_classes should be positive, got %d", classes)
	}
	r, err := d.reserve(c, rows*((n+3)/4*4)*2)
	if err != nil {
		return err
	}
	if err := c.room(classes, 8); err != nil {
		return err
	}
	values, err := doubles(c, logits)
	if err != nil {
		return err
	}
	words, sums := r.Words(), make([]float64, classes)
	ids := make([]int, n)
	for row := range rows {
		total := weigh(sums, values[row*classes:])
		for i := range ids {
			find := words.Float64() * total
			ids[i] = sort.Search(classes, func(k int) bool { return sums[k] > find })
		}
		if err := setInts(rowOf(out, row, n), ids); err != nil {
			return err
		}
	}
	return nil
}

func rowOf(t *tensor.Tensor, row, n int) *tensor.Tensor { return rows(t, []int{n}, row*n, n) }

// weigh fills sums with the running sums of exp(logit - maximum), and returns the last.
func weigh(sums, logits []float64) (total float64) {
	most := -math.MaxFloat64
	for _, v := range logits[:len(sums)] {
		if v-v == 0 {
			most = max(most, v)
		}
	}
	for k := range sums {
		if v := logits[k]; v-v == 0 {
			total += math.Exp(v - most)
		}
		sums[k] = total
	}
	return total
}

// drawOrder shuffles the rows of a tensor with the Fisher-Yates algorithm.
func drawOrder(d drawing, c call) error {
	t := d.in(c, "value")
	if t.Len() <= 1 || t.Shape[0] <= 1 {
		return pass(c)
	}
	n := t.Shape[0]
	out, err := c.output(0, t.DType, t.Shape...)
	if err != nil {
		return err
	}
	if err := c.room(n, 8); err != nil {
		return err
	}
	r, err := d.from(c, uint64(n-1+3)/4)
	if err != nil {
		return err
	}
	words, order := r.Words(), make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := range n - 1 {
		j := i + int(words.Next()%uint32(n-i))
		order[i], order[j] = order[j], order[i]
	}
	width := t.Len() / n
	for i, k := range order {
		copyCells(out, i*width, t, k*width, width)
	}
	return nil
}
