package infer

import (
	"fmt"
	"slices"
)

// arrayRules are of ops that put tensors together and take them apart.
var arrayRules = map[string]rule{
	"ConcatV2": concatV2, "Concat": concatV1, "Pack": pack, "Unpack": unpack, "Split": split, "SplitV": splitV, "GatherV2": gatherV2, "Gather": gatherRows,
	"GatherNd": gatherNd, "Pad": pad, "PadV2": pad, "MirrorPad": pad, "ScatterNd": sized(2),
}

func concatV2(s *site) ([]Value, error) { return concat(s, 0, len(s.in)-1, len(s.in)-1) }
func concatV1(s *site) ([]Value, error) { return concat(s, 1, len(s.in), 0) }

// concat joins inputs lo to hi along the axis that input at names.
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
		if n < 0 {
			open = i
			continue
		}
		rest -= n
	}
	if open >= 0 {
		sizes[open], rest = rest, 0
	}
	if rest != 0 {
		return nil, fmt.Errorf("axis %d of %v cannot be split into %v", a, x, sizes)
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
	if b < 0 || b > a || b > len(ids) {
		return nil, fmt.Errorf("batch_dims %d of indices %v and axis %d", b, ids, a)
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
	return one(slices.Concat(ids[:last], x[ids[last]:])...)
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
	if len(p) != 2*len(x) {
		return nil, fmt.Errorf("paddings %v of shape %v", p, x)
	}
	out := slices.Clone(x)
	for i := range out {
		if p[2*i] < 0 || p[2*i+1] < 0 || p[2*i] > maxElements || p[2*i+1] > maxElements {
			return nil, fmt.Errorf("paddings %v: expected sizes", p)
		}
		out[i] += p[2*i] + p[2*i+1]
	}
	return one(out...)
}
