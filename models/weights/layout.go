package weights

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// The layouts of PyTorch, as its documentation of the modules describes them.
const (
	// torch: kernels of Linear [out, in] and of convolutions [out, in/groups, ...], including the Linears of attention, whose
	// heads have a dimension of their own here. Other variables are unchanged.
	torch = "torch"
	// torchConvTranspose: kernels of transposed convolutions [in, out, ...].
	torchConvTranspose = "torch_conv_transpose"
	// torchLSTM, for LSTM and RNN: kernels [gates*units, in]; the bias is the sum of two.
	torchLSTM = "torch_lstm"
	// torchGRU: like torchLSTM, but with gates r, z, n for Keras' z, r, h, and both biases.
	torchGRU = "torch_gru"
)

// Layouts returns the names of the layouts that rules may have.
func Layouts() []string { return []string{torch, torchConvTranspose, torchGRU, torchLSTM} }

// arranged reads the value of a variable from tensors in another layout.
func (f *File) arranged(s Source, to Target) (*tensor.Tensor, error) {
	info, ok := f.Lookup(s.Name)
	if !ok {
		return nil, fmt.Errorf("%s: tensor %q: %w", f.path, s.Name, ErrNotFound)
	}
	kind, rank := lastName(to.Name), len(info.Shape)
	switch s.Layout {
	case torchLSTM, torchGRU:
		if kind == "bias" {
			return f.biases(s, to)
		}
		t, err := f.part(s.Name, to, []int{1, 0}, to.Shape)
		if err != nil || s.Layout == torchLSTM {
			return t, err
		}
		return t, swapGates(t)
	case torchConvTranspose:
		return f.part(s.Name, to, toLast(rank, 1, 0), to.Shape)
	}
	if shape, ok := joinedHeads(info.Shape, to.Shape); ok && (kind == "kernel" || kind == "bias") {
		return f.divided(s, to, shape)
	}
	switch kind {
	case "kernel", "pointwise_kernel":
		if len(s.Flattened) > 0 {
			return f.channelsLast(s, to)
		}
		return f.part(s.Name, to, toLast(rank, 1, 0), to.Shape)
	case "depthwise_kernel":
		// [channels*multiplier, 1, rows, columns]: the same elements in the same order.
		n := len(to.Shape)
		if n < 2 {
			return nil, fmt.Errorf("variable %s: expected [rows, columns, channels, multiplier], got %v", to.Name, to.Shape)
		}
		t, err := f.part(s.Name, to, toLast(rank, 0, 1), append(slices.Clone(to.Shape[:n-2]), to.Shape[n-2]*to.Shape[n-1], 1))
		if err == nil {
			t.Shape = slices.Clone(to.Shape)
		}
		return t, err
	}
	return f.part(s.Name, to, nil, to.Shape)
}

// channelsLast reads the kernel of a Linear after a flattened image, whose elements PyTorch orders channel by channel.
func (f *File) channelsLast(s Source, to Target) (*tensor.Tensor, error) {
	n := 1
	for _, d := range s.Flattened {
		n *= d
	}
	if len(to.Shape) != 2 || to.Shape[0] != n {
		return nil, fmt.Errorf("variable %s: expected a kernel [%d, units] for flattened %v, got %v", to.Name, n, s.Flattened, to.Shape)
	}
	t, err := f.part(s.Name, to, []int{1, 0}, to.Shape)
	if err != nil {
		return nil, err
	}
	t.Shape = append(slices.Clone(s.Flattened), to.Shape[1])
	order := make([]int, 0, len(t.Shape))
	for i := 1; i < len(s.Flattened); i++ {
		order = append(order, i)
	}
	if t, err = tensorfile.Transpose(t, append(order, 0, len(s.Flattened))...); err == nil {
		t.Shape = slices.Clone(to.Shape)
	}
	return t, err
}

// joinedHeads returns the shape that an attention's variable has in a Linear, if from, [out, in] or [out], fits. The
// variable is a kernel [in, heads, dim] or [heads, dim, out], or a bias [heads, dim].
func joinedHeads(from, to []int) ([]int, bool) {
	switch {
	case len(from) == 1 && len(to) == 2 && to[0]*to[1] == from[0]:
		return []int{from[0]}, true
	case len(from) == 2 && len(to) == 3 && to[0] == from[1] && to[1]*to[2] == from[0],
		len(from) == 2 && len(to) == 3 && to[0]*to[1] == from[1] && to[2] == from[0]:
		return []int{from[1], from[0]}, true
	}
	return nil, false
}

// divided reads a variable with the elements of a Linear's transposed kernel, or of its bias.
func (f *File) divided(s Source, to Target, joined []int) (*tensor.Tensor, error) {
	var perm []int
	if len(joined) == 2 {
		perm = []int{1, 0}
	}
	t, err := f.part(s.Name, to, perm, joined)
	if err == nil {
		t.Shape = slices.Clone(to.Shape)
	}
	return t, err
}

// lastName returns the last part of a variable's name.
func lastName(variable string) string { return variable[strings.LastIndexByte(variable, '/')+1:] }

// toLast returns a permutation that moves the first two of rank dimensions to the end, in the given order.
func toLast(rank, first, second int) []int {
	order := make([]int, 0, max(rank, 2))
	for i := 2; i < rank; i++ {
		order = append(order, i)
	}
	return append(order, first, second)
}

// biases reads the two biases of a recurrent layer, weight_ih's and weight_hh's.
func (f *File) biases(s Source, to Target) (*tensor.Tensor, error) {
	const of, other = "bias_ih", "bias_hh"
	if !strings.Contains(s.Name, of) {
		return nil, fmt.Errorf("tensor %q: layout %s: expected a name with %s for the variable %s; its %s is taken, too", s.Name, s.Layout, of, to.Name, other)
	}
	if len(to.Shape) == 0 {
		return nil, fmt.Errorf("variable %s is a number: expected the bias of a recurrent layer", to.Name)
	}
	n := to.Shape[len(to.Shape)-1]
	a, err := f.part(s.Name, to, nil, []int{n})
	if err != nil {
		return nil, err
	}
	b, err := f.part(strings.Replace(s.Name, of, other, 1), to, nil, []int{n})
	if err != nil {
		return nil, err
	}
	if s.Layout == torchLSTM {
		return a, sum(a, b)
	}
	if !slices.Equal(to.Shape, []int{2, n}) {
		return nil, fmt.Errorf("variable %s: expected [2, gates*units] for layout %s, got %v", to.Name, s.Layout, to.Shape)
	}
	t := tensor.New(to.DType, 2, n)
	copy(t.Bytes[copy(t.Bytes, a.Bytes):], b.Bytes)
	return t, swapGates(t)
}

// sum adds b to a.
func sum(a, b *tensor.Tensor) error {
	switch a.DType {
	case tensor.Float32:
		add(tensor.Values[float32](a), tensor.Values[float32](b))
	case tensor.Float64:
		add(tensor.Values[float64](a), tensor.Values[float64](b))
	default:
		return fmt.Errorf("biases of %v: expected float32 or float64", a.DType)
	}
	return nil
}

func add[T float32 | float64](a, b []T) {
	for i := range a {
		a[i] += b[i]
	}
}

// swapGates exchanges the first and the second third of each row.
func swapGates(t *tensor.Tensor) error {
	n := t.Shape[len(t.Shape)-1]
	if n%3 != 0 {
		return tensorfile.Errorf("%d columns, expected those of 3 gates", n)
	}
	gate := n / 3 * t.DType.Size()
	first := make([]byte, gate)
	for row := t.Bytes; len(row) >= 3*gate && gate > 0; row = row[3*gate:] {
		copy(first, row)
		copy(row[:gate], row[gate:2*gate])
		copy(row[gate:2*gate], first)
	}
	return nil
}
