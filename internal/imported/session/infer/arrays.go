package infer

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// arrayRules are for ops that combine and split tensors.
var arrayRules = map[*ops.Def]rule{
	ops.ConcatV2: concatV2, ops.Concat: concatV1, ops.Pack: pack, ops.Unpack: unpack, ops.Split: split, ops.SplitV: splitV, ops.GatherV2: gatherV2, ops.Gather: gatherRows,
	ops.GatherNd: gatherNd, ops.Pad: pad, ops.PadV2: pad, ops.MirrorPad: pad, ops.ScatterNd: scatterNd,
}

func concatV2(s *site) ([]Value, error) { return concat(s, 0, len(s.in)-1, len(s.in)-1) }
func concatV1(s *site) ([]Value, error) { return concat(s, 1, len(s.in), 0) }

// concat joins inputs lo to hi along the axis given by input at.
func concat(s *site, lo, hi, at int) ([]Value, error) {
	if hi <= lo {
		return nil, fmt.Errorf("expected tensors to join")
	}
	first, err := s.shape(lo)
	if err != nil {
		return nil, err
	}
	a, err := s.axisAt(at, len(first))
	if err != nil {
		return nil, err
	}
	out := slices.Clone(first)
	for i := lo + 1; i < hi; i++ {
		x, err := s.rank(i, len(first))
		if err != nil {
			return nil, err
		}
		for j := range x {
			if j != a && x[j] != first[j] {
				return nil, fmt.Errorf("inputs of shapes %v and %v cannot be joined along axis %d", first, x, a)
			}
		}
		out[a] += x[a]
	}
	return one(out...)
}

func pack(s *site) ([]Value, error) {
	first, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	for i := range s.in {
		x, err := s.shape(i)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(x, first) {
			return nil, fmt.Errorf("inputs of shapes %v and %v: expected one shape", first, x)
		}
	}
	a, err := axis(s.n.Int("axis", 0), len(first)+1)
	if err != nil {
		return nil, err
	}
	return one(slices.Insert(slices.Clone(first), a, len(s.in))...)
}

func unpack(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	a, err := axis(s.n.Int("axis", 0), len(x))
	if err != nil {
		return nil, err
	}
	if x[a] != len(s.n.Outputs) {
		return nil, fmt.Errorf("axis %d of %v: expected size %d", a, x, len(s.n.Outputs))
	}
	return repeat(len(s.n.Outputs), slices.Delete(slices.Clone(x), a, a+1)), nil
}

func repeat(n int, shape []int) []Value {
	out := make([]Value, n)
	for i := range out {
		out[i] = Shaped(shape...)
	}
	return out
}

func split(s *site) ([]Value, error) {
	x, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	a, err := s.axisAt(0, len(x))
	if err != nil {
		return nil, err
	}
	n := len(s.n.Outputs)
	if n == 0 || x[a]%n != 0 {
		return nil, fmt.Errorf("axis %d of %v cannot be split into %d", a, x, n)
	}
	to := slices.Clone(x)
	to[a] /= n
	return repeat(n, to), nil
}

func splitV(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	sizes, err := s.ints(1)
	if err != nil {
		return nil, err
	}
	a, err := s.axisAt(2, len(x))
	if err != nil {
		return nil, err
	}
	sizes = slices.Clone(sizes)
	rest, open := x[a], -1
	for i, n := range sizes {
		switch {
		case n == -1 && open < 0:
			open = i
		case n < 0 || n > rest:
			return nil, fmt.Errorf("axis %d of %v cannot be split into %v", a, x, sizes)
		default:
			rest -= n
		}
	}
	if open >= 0 {
		sizes[open], rest = rest, 0
	}
	if rest != 0 || len(sizes) != len(s.n.Outputs) {
		return nil, fmt.Errorf("axis %d of %v cannot be split into %d parts of %v", a, x, len(s.n.Outputs), sizes)
	}
	out := make([]Value, len(sizes))
	for i, n := range sizes {
		to := slices.Clone(x)
		to[a] = n
		out[i] = Shaped(to...)
	}
	return out, nil
}

func gatherV2(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	ids, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	a, err := s.axisAt(2, len(x))
	if err != nil {
		return nil, err
	}
	b := s.n.Int("batch_dims", 0)
	if b < 0 {
		b += len(ids)
	}
	if b < 0 || b > a || b > len(ids) || !slices.Equal(x[:b], ids[:b]) {
		return nil, fmt.Errorf("batch_dims %d of params %v, indices %v and axis %d", b, x, ids, a)
	}
	return one(slices.Concat(x[:a], ids[b:], x[a+1:])...)
}

func gatherRows(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	ids, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	if len(x) == 0 {
		return nil, fmt.Errorf("params: expected at least a vector, got a scalar")
	}
	return one(slices.Concat(ids, x[1:])...)
}

func gatherNd(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	ids, err := s.shape(1)
	if err != nil {
		return nil, err
	}
	last := len(ids) - 1
	if len(x) == 0 || last < 0 || ids[last] > len(x) {
		return nil, fmt.Errorf("params %v and indices %v: expected vectors, and no more indices than dimensions", x, ids)
	}
	if slices.Contains(x, 0) && !slices.Contains(ids[:last], 0) {
		return nil, fmt.Errorf("params %v are empty, but indices %v are not", x, ids)
	}
	return one(slices.Concat(ids[:last], x[ids[last]:])...)
}

func scatterNd(s *site) ([]Value, error) {
	to, err := s.ints(2)
	if err != nil {
		return nil, err
	}
	ids, err := s.shape(0)
	if err != nil {
		return one(to...)
	}
	updates, err := s.shape(1)
	if err != nil {
		return one(to...)
	}
	last := len(ids) - 1
	if last < 0 || ids[last] > len(to) || !slices.Equal(updates, slices.Concat(ids[:last], to[ids[last]:])) {
		return nil, fmt.Errorf("indices %v and updates %v do not fit a result of shape %v", ids, updates, to)
	}
	if slices.Contains(to, 0) && (!slices.Contains(ids, 0) || !slices.Contains(updates, 0)) {
		return nil, fmt.Errorf("indices %v and updates %v for a result of shape %v, which is empty", ids, updates, to)
	}
	return one(to...)
}

func pad(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	p, err := s.ints(1)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(s.in[1].T.Shape, []int{len(x), 2}) {
		return nil, fmt.Errorf("paddings of shape %v: expected [%d 2]", s.in[1].T.Shape, len(x))
	}
	most := func(int) int { return maxElements }
	switch s.n.Op {
	case "PadV2":
		if _, err := s.rank(2, 0); err != nil && err != errUnknown {
			return nil, err
		}
	case "MirrorPad":
		edge := 0
		if s.n.Str("mode") == "REFLECT" {
			edge = 1
		}
		most = func(i int) int { return x[i] - edge }
	}
	out := slices.Clone(x)
	for i := range out {
		if p[2*i] < 0 || p[2*i+1] < 0 || p[2*i] > most(i) || p[2*i+1] > most(i) {
			return nil, fmt.Errorf("paddings %v of shape %v: expected sizes, of mirrors up to those of the shape", p, x)
		}
		out[i] += p[2*i] + p[2*i+1]
	}
	return one(out...)
}
