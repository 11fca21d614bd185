package graph

import (
	"fmt"
	"math/bits"
	"slices"
)

// Reshape returns the sizes that TensorFlow's Reshape gives a tensor of sizes in: the sizes to, with a -1 inferred from the
// others. If to contains a 0, the -1 ignores sizes of 0 in both, and is rounded down.
func Reshape(in, to []int) ([]int, error) {
	out := slices.Clone(to)
	free, known := -1, make([]int, 0, len(to))
	for i, d := range to {
		switch {
		case d == -1 && free >= 0:
			return nil, fmt.Errorf("shape %v: expected at most one -1", to)
		case d == -1:
			free = i
		case d < 0:
			return nil, fmt.Errorf("shape %v: sizes must not be negative, except for one -1", to)
		case d > 0:
			known = append(known, d)
		}
	}
	if free >= 0 {
		left, err := left(in, to, known)
		if err != nil {
			return nil, err
		}
		out[free] = left
	}
	have, ok := countOf(in)
	want, fits := countOf(out)
	if !ok || !fits || have != want {
		return nil, fmt.Errorf("shape %v does not hold the elements of %v", to, in)
	}
	return out, nil
}

// left infers the size that the known sizes of a shape leave open.
func left(in, to, known []int) (int, error) {
	zeros := slices.Contains(to, 0)
	if zeros {
		in = slices.DeleteFunc(slices.Clone(in), func(d int) bool { return d == 0 })
	}
	n, ok := countOf(in)
	by, fits := countOf(known)
	if !ok || !fits || !zeros && n%by != 0 {
		return 0, fmt.Errorf("shape %v does not hold the elements of %v", to, in)
	}
	return n / by, nil
}

// countOf returns the product of sizes that are not negative, false if it overflows.
func countOf(sizes []int) (int, bool) {
	if slices.Contains(sizes, 0) {
		return 0, true
	}
	n := uint64(1)
	for _, d := range sizes {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo >= 1<<62 {
			return 0, false
		}
		n = lo
	}
	return int(n), true
}
