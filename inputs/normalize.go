package inputs

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Normalization makes float32 features: (x/Scale - Mean) / Std.
type Normalization struct {
	Columns []string  // columns to normalize; empty: all dense numeric features
	Except  []string  // features that stay unchanged
	Scale   float64   // divisor, for example 255 for bytes; 0: 1
	Mean    []float64 // one value, or one per entry of the last dimension (channel); empty: 0
	Std     []float64 // as many values as Mean; empty: 1
}

// Normalize returns a Mapper that normalises features.
func Normalize(n Normalization) Mapper {
	m := columnMap{name: fmt.Sprintf("normalize%v", n)}
	m.plan = func(c Column) (Column, columnFunc, error) {
		if !n.wants(c) {
			return c, nil, nil
		}
		if c.Ragged || c.DType == tensor.String || c.DType == tensor.Bool || c.DType == tensor.Float16 {
			return c, nil, fmt.Errorf("only dense numeric columns can be normalised, this is %s", c)
		}
		table, err := n.table(c)
		if err != nil {
			return c, nil, err
		}
		c.DType = tensor.Float32
		return c, table.write, nil
	}
	return m.mapper()
}

func (n Normalization) wants(c Column) bool {
	if len(n.Columns) > 0 {
		return slices.Contains(n.Columns, c.Name)
	}
	return c.Role == Feature && !slices.Contains(n.Except, c.Name) && !c.Ragged && c.DType != tensor.String && c.DType != tensor.Bool && c.DType != tensor.Float16
}

// channels holds one affine function per channel.
type channels struct {
	scale     float64
	mean, std []float64
}

func (n Normalization) table(c Column) (*channels, error) {
	last := 1
	if len(c.Shape) > 0 {
		last = c.Shape[len(c.Shape)-1]
	}
	t := &channels{scale: n.Scale, mean: n.Mean, std: n.Std}
	if t.scale == 0 {
		t.scale = 1
	}
	if len(t.mean) == 0 {
		t.mean = []float64{0}
	}
	if len(t.std) == 0 {
		t.std = []float64{1}
	}
	for i, v := range [][]float64{t.mean, t.std} {
		if len(v) != 1 && len(v) != last {
			return nil, fmt.Errorf("%s has %d values, expected 1 or %d, one for each entry of the last dimension of %v",
				[]string{"mean", "std"}[i], len(v), last, c.Shape)
		}
	}
	if slices.Contains(t.std, 0) {
		return nil, fmt.Errorf("std must not be 0, got %v", t.std)
	}
	size := max(len(t.mean), len(t.std))
	t.mean, t.std = expand(t.mean, size), expand(t.std, size)
	return t, nil
}

// expand repeats a single value.
func expand(v []float64, n int) []float64 {
	if len(v) == n {
		return v
	}
	return slices.Repeat(v, n)
}

func (t *channels) at(x float64, channel int) float32 {
	return float32((x/t.scale - t.mean[channel]) / t.std[channel])
}

func (t *channels) write(dst []byte, src *tensor.Tensor, _ Rows) error {
	out := float32s(dst)
	switch src.DType {
	case tensor.Uint8:
		t.bytes(out, src.Bytes)
	case tensor.Int8:
		affine(t, out, tensor.Values[int8](src))
	case tensor.Int16:
		affine(t, out, tensor.Values[int16](src))
	case tensor.Uint16:
		affine(t, out, tensor.Values[uint16](src))
	case tensor.Int32:
		affine(t, out, tensor.Values[int32](src))
	case tensor.Uint32:
		affine(t, out, tensor.Values[uint32](src))
	case tensor.Int64:
		affine(t, out, tensor.Values[int64](src))
	case tensor.Uint64:
		affine(t, out, tensor.Values[uint64](src))
	case tensor.Float32:
		affine(t, out, tensor.Values[float32](src))
	case tensor.Float64:
		affine(t, out, tensor.Values[float64](src))
	}
	return nil
}

// bytes uses a table, since a byte has only 256 values.
func (t *channels) bytes(out []float32, src []byte) {
	n := len(t.mean)
	table := make([][256]float32, n)
	for c := range table {
		for x := range table[c] {
			table[c][x] = t.at(float64(x), c)
		}
	}
	for c := range table {
		look := &table[c]
		for i := c; i < len(src); i += n {
			out[i] = look[src[i]]
		}
	}
}

type number interface {
	int8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

func affine[T number](t *channels, out []float32, src []T) {
	c := 0
	for i, x := range src {
		out[i] = t.at(float64(x), c)
		if c++; c == len(t.mean) {
			c = 0
		}
	}
}
