package tensorfile

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Transpose returns t with its dimensions in the order of perm, like NumPy's transpose.
func Transpose(t *tensor.Tensor, perm ...int) (*tensor.Tensor, error) {
	if err := CheckPermutation(perm, len(t.Shape)); err != nil {
		return nil, err
	}
	size := t.DType.Size()
	if size == 0 {
		return nil, fmt.Errorf("transpose of %v: expected numbers", t.DType)
	}
	out := tensor.New(t.DType, Permuted(t.Shape, perm)...)
	if len(out.Bytes) == 0 {
		return out, nil
	}
	strides := make([]int, len(perm)) // in t, in bytes, for each dimension of out
	step := size
	for i := len(t.Shape) - 1; i >= 0; i-- {
		strides[slices.Index(perm, i)] = step
		step *= t.Shape[i]
	}
	index, from := make([]int, len(perm)), 0
	for to := 0; to < len(out.Bytes); to += size {
		copy(out.Bytes[to:to+size], t.Bytes[from:])
		for i := len(index) - 1; i >= 0; i-- {
			index[i]++
			from += strides[i]
			if index[i] < out.Shape[i] {
				break
			}
			from -= strides[i] * index[i]
			index[i] = 0
		}
	}
	return out, nil
}

// Permuted returns a shape with its dimensions in the order of perm.
func Permuted(shape, perm []int) []int {
	out := make([]int, len(perm))
	for i, p := range perm {
		out[i] = shape[p]
	}
	return out
}

// CheckPermutation returns an error if perm is not a permutation of the dimensions 0 to rank-1.
func CheckPermutation(perm []int, rank int) error {
	sorted := slices.Sorted(slices.Values(perm))
	for i, p := range sorted {
		if p != i {
			return fmt.Errorf("dimensions %v: expected each of 0 to %d once", perm, len(perm)-1)
		}
	}
	if len(perm) != rank {
		return fmt.Errorf("dimensions %v: expected %d of them", perm, rank)
	}
	return nil
}
