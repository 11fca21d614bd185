package infer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// mathRules are for products and reductions.
var mathRules = map[*ops.Def]rule{
	ops.MatMul: matMul, ops.BatchMatMul: batchMatMul, ops.BatchMatMulV2: batchMatMul, ops.BatchMatMulV3: batchMatMul, ops.Einsum: einsum,
	ops.Sum: reduce, ops.Mean: reduce, ops.Max: reduce, ops.Min: reduce, ops.Prod: reduce, ops.All: reduce, ops.Any: reduce, ops.EuclideanNorm: reduce,
	ops.ArgMax: arg, ops.ArgMin: arg, ops.TopKV2: topK, ops.L2Loss: toScalar, ops.UnsortedSegmentSum: segments, ops.UnsortedSegmentMax: segments, ops.UnsortedSegmentMin: segments,
	ops.UnsortedSegmentProd: segments, ops.InTopKV2: inTopK, ops.IntegerMatMul: integerMatMul,
}

func matMul(s *site) ([]Value, error) {
	a, err := s.rank(0, 2)
	if err != nil {
		return nil, err
	}
	b, err := s.rank(1, 2)
	if err != nil {
		return nil, err
	}
	return product(nil, a, b, s.n.Bool("transpose_a"), s.n.Bool("transpose_b"))
}

// product multiplies matrices with the given leading sizes.
func product(lead, a, b []int, ta, tb bool) ([]Value, error) {
	m, k, l, n := a[0], a[1], b[0], b[1]
	if ta {
		m, k = k, m
	}
	if tb {
		l, n = n, l
	}
	if k != l {
		return nil, fmt.Errorf("matrices %v and %v cannot be multiplied (transposed: %v, %v)", a, b, ta, tb)
	}
	return one(slices.Concat(lead, []int{m, n})...)
}

func batchMatMul(s *site) ([]Value, error) {
	a, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	b, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	if len(a) < 2 || len(b) < 2 {
		return nil, fmt.Errorf("expected matrices, got %v and %v", a, b)
	}
	lead, err := broadcast(a[:len(a)-2], b[:len(b)-2])
	if err != nil {
		return nil, err
	}
	return product(lead, a[len(a)-2:], b[len(b)-2:], s.n.Bool("adj_x"), s.n.Bool("adj_y"))
}

// einsum supports equations of single letters, without ellipsis.
func einsum(s *site) ([]Value, error) {
	left, right, ok := strings.Cut(s.n.Str("equation"), "->")
	terms := strings.Split(left, ",")
	if !ok || strings.Contains(left, ".") || len(terms) != len(s.in) {
		return nil, errUnknown
	}
	sizes := map[rune]int{}
	for i, t := range terms {
		x, err := s.rank(i, len(t))
		if err != nil {
			return nil, err
		}
		for j, l := range t {
			if d, ok := sizes[l]; ok && d != x[j] {
				return nil, fmt.Errorf("%q: sizes %d and %d of %q", s.n.Str("equation"), d, x[j], l)
			}
			sizes[l] = x[j]
		}
	}
	var out []int
	for _, l := range right {
		d, ok := sizes[l]
		if !ok {
			return nil, fmt.Errorf("%q: %q is no index of an input", s.n.Str("equation"), l)
		}
		out = append(out, d)
	}
	return one(out...)
}

func reduce(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	axes, err := s.ints(1)
	if err != nil {
		return nil, err
	}
	gone := make([]bool, len(x))
	for _, a := range axes {
		if a, err = axis(a, len(x)); err != nil {
			return nil, err
		}
		if gone[a] {
			return nil, fmt.Errorf("axes %v name dimension %d twice", axes, a)
		}
		gone[a] = true
	}
	out := []int{}
	for i, d := range x {
		switch {
		case !gone[i]:
			out = append(out, d)
		case s.n.Bool("keep_dims"):
			out = append(out, 1)
		}
	}
	return one(out...)
}

func arg(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	a, err := s.axisAt(1, len(x))
	if err != nil {
		return nil, err
	}
	if x[a] == 0 {
		return nil, fmt.Errorf("axis %d of %v is empty", a, x)
	}
	return one(slices.Delete(slices.Clone(x), a, a+1)...)
}

func topK(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	k, err := s.scalar(1)
	if err != nil {
		return nil, err
	}
	if len(x) == 0 || k < 0 || k > x[len(x)-1] {
		return nil, fmt.Errorf("the %d largest of shape %v", k, x)
	}
	to := slices.Clone(x)
	to[len(to)-1] = k
	return repeat(2, to), nil
}

func toScalar(*site) ([]Value, error) { return one() }

func segments(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	ids, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	n, err := s.scalar(2)
	if err != nil {
		return nil, err
	}
	if len(ids) > len(x) || !slices.Equal(x[:len(ids)], ids) || n < 0 {
		return nil, fmt.Errorf("data %v in %d segments of indices %v: expected data that begin with the shape of the indices", x, n, ids)
	}
	return one(slices.Concat([]int{n}, x[len(ids):])...)
}

func inTopK(s *site) ([]Value, error) {
	x, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	return one(x...)
}

// integerMatMul multiplies each row by one matrix, or matrix by matrix.
func integerMatMul(s *site) ([]Value, error) {
	a, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	b, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	if len(a) < 2 || len(b) != 2 {
		return batchMatMul(s)
	}
	last := len(a) - 1
	if a[last] != b[0] {
		return nil, fmt.Errorf("matrices %v and %v cannot be multiplied", a, b)
	}
	return one(append(slices.Clone(a[:last]), b[1])...)
}
