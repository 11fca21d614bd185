package stablehlograph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// value is a tensor of the program: a constant, the output of a node, or a broadcast that no node makes yet.
type value struct {
	dtype tensor.DType
	dims  []int // -1: a size known only at run time
	out   graph.Output
	t     *tensor.Tensor // the constant, nil for none
	low   *value         // for a broadcast: the value that is broadcast, as in NumPy
	shape *value         // for a broadcast: the shape to broadcast to, a vector
	along int            // 1 + the axis along which the value counts 0, 1, ...; 0 for others
}

// identity is equal for two values that are the same tensor.
type identity struct {
	out graph.Output
	t   *tensor.Tensor
}

func (v *value) identity() identity { return identity{v.out, v.t} }

// constant returns the value of a tensor.
func constant(t *tensor.Tensor) *value {
	return &value{dtype: t.DType, dims: t.Shape, t: t}
}

// ints returns a vector of numbers.
func ints(v ...int) *value {
	t := tensor.New(tensor.Int32, len(v))
	for i, n := range v {
		tensor.Values[int32](t)[i] = int32(n)
	}
	return constant(t)
}

// rank returns the number of dimensions.
func (v *value) rank() int { return len(v.dims) }

// open reports whether a size is not known.
func open(dims []int) bool { return slices.Contains(dims, -1) }

// small returns the value that is broadcast: elementwise ops compute with it.
func (v *value) small() *value {
	if v.low != nil {
		return v.low
	}
	return v
}

// numbers returns the elements of a constant that has a few integers.
func (v *value) numbers() ([]int, bool) {
	t := v.t
	if t == nil && v.low != nil && v.low.t != nil && v.low.t.Len() == 1 && !open(v.dims) && len(v.dims) == 1 && v.dims[0] <= maxList {
		return slices.Repeat([]int{int(v.low.t.Int(0))}, v.dims[0]), true
	}
	if t == nil || t.DType.Float() || t.Len() > maxList {
		return nil, false
	}
	all := make([]int, t.Len())
	for i := range all {
		all[i] = int(t.Int(i))
	}
	return all, true
}

// joined returns the sizes that two values broadcast to, as in NumPy.
func joined(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, d := range b {
		switch at := len(a) - len(b) + i; {
		case out[at] == 1, out[at] == -1 && d != 1:
			out[at] = d
		}
	}
	return out
}

// without returns 0 to n-1, except the given numbers.
func without(n int, but ...int) (all []int) {
	for i := range n {
		if !slices.Contains(but, i) {
			all = append(all, i)
		}
	}
	return all
}

// at returns some of the sizes.
func at(dims []int, which []int) []int {
	all := make([]int, len(which))
	for i, d := range which {
		all[i] = dims[d]
	}
	return all
}
