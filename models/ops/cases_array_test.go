package ops_test

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

type buildFunc = func(c models.Context, in []*G.Node) *G.Node

// summed is an einsum by its definition: labels of operands and result, one letter for each dimension.
func summed(out string, terms ...string) func(in []*array) *array {
	return func(in []*array) *array {
		size, labels := map[rune]int{}, []rune{}
		for i, t := range terms {
			for d, l := range []rune(t) {
				if size[l] == 0 {
					labels = append(labels, l)
				}
				size[l] = max(size[l], in[i].shape[d])
			}
		}
		var shape, all []int
		for _, l := range out {
			shape = append(shape, size[l])
		}
		for _, l := range labels {
			all = append(all, size[l])
		}
		y := zeros(shape...)
		each(all, func(at []int) {
			place := func(t string, of []int) []int {
				var p []int
				for d, l := range []rune(t) {
					p = append(p, min(at[slices.Index(labels, l)], of[d]-1))
				}
				return p
			}
			v := 1.0
			for i, t := range terms {
				v *= in[i].at(place(t, in[i].shape)...)
			}
			to := place(out, shape)
			y.set(y.at(to...)+v, to...)
		})
		return y
	}
}

func einsumCases() []opCase {
	one := func(detail, equation string, ref func(in []*array) *array, in ...operand) opCase {
		return opCase{fn: "Einsum", detail: detail, in: in, ref: ref,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Einsum(c, equation, in...) }}
	}
	return []opCase{
		one("matmul", "ij,jk->ik", summed("ik", "ij", "jk"), batch(3), param(3, 4)),
		one("projection", "abc,cde->abde", summed("abde", "abc", "cde"), batch(2, 3), param(3, 2, 2)),
		one("scores", "aecd,abcd->acbe", summed("acbe", "aecd", "abcd"), batch(3, 2, 2), batch(2, 2, 2)),
		one("combine", "acbe,aecd->abcd", summed("abcd", "acbe", "aecd"), batch(2, 2, 3), batch(3, 2, 2)),
		one("transposed", "ij,kj->ki", summed("ki", "ij", "kj"), batch(3), param(4, 3)),
		one("outer", "a,b->ab", summed("ab", "a", "b"), batch(), param(3)),
		one("trace", "aii->a", summed("a", "aii"), batch(3, 3)),
		one("diagonal", "aii->ai", summed("ai", "aii"), batch(3, 3)),
		one("square", "ai->aii", summed("aii", "ai"), batch(3)),
		one("ellipsis", "...ij,...jk->...ik", summed("abik", "abij", "bjk"), batch(2, 2, 3), param(2, 3, 2)),
		one("implied", "ba", summed("ab", "ba"), batch(3)),
		one("summed", "abc->b", summed("b", "abc"), batch(2, 3)),
		one("three", "ai,ij,j->a", summed("a", "ai", "ij", "j"), batch(3), param(3, 2), param(2)),
		one("one alone", "ab,ac->a", summed("a", "ab", "ac"), batch(2), batch(3)),
	}
}

func arrayCases() []opCase {
	at := func(hi float64, dims ...int) operand { return batch(dims...).in(0, hi).of(tensor.Int32) }
	pick := func(f func(c models.Context, in []*G.Node) []*G.Node, i int) buildFunc {
		return func(c models.Context, in []*G.Node) *G.Node {
			if out := f(c, in); i < len(out) {
				return out[i]
			}
			return nil
		}
	}
	split := func(c models.Context, in []*G.Node) []*G.Node { return ops.Split(c, in[0], 2, 1) }
	sizes := func(c models.Context, in []*G.Node) []*G.Node { return ops.SplitSizes(c, in[0], []int{1, 3}, -1) }
	unstack := func(c models.Context, in []*G.Node) []*G.Node { return ops.Unstack(c, in[0], 1) }
	cols := func(from, n int) func(in []*array) *array {
		return func(in []*array) *array {
			return fill([]int{in[0].shape[0], n}, func(i []int) float64 { return in[0].at(i[0], from+i[1]) })
		}
	}
	return []opCase{
		{fn: "GatherAxis", in: []operand{batch(4, 2), param(3).in(0, 4).of(tensor.Int32)},
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.GatherAxis(c, in[0], in[1], 1) },
			ref: func(in []*array) *array {
				return fill([]int{in[0].shape[0], 3, 2}, func(i []int) float64 { return in[0].at(i[0], int(in[1].at(i[1])), i[2]) })
			}},
		{fn: "GatherAxis", detail: "last, matrix of indices", in: []operand{batch(2, 4), param(2, 3).in(0, 4).of(tensor.Int64)},
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.GatherAxis(c, in[0], in[1], -1) },
			ref: func(in []*array) *array {
				return fill([]int{in[0].shape[0], 2, 2, 3}, func(i []int) float64 { return in[0].at(i[0], i[1], int(in[1].at(i[2], i[3]))) })
			}},
		{fn: "GatherNd", in: []operand{param(4, 3, 2), at(3, 2)}, build: second(ops.GatherNd), ref: func(in []*array) *array {
			return fill([]int{in[1].shape[0], 2}, func(i []int) float64 {
				return in[0].at(int(in[1].at(i[0], 0)), int(in[1].at(i[0], 1)), i[1])
			})
		}},
		{fn: "ScatterNd", in: []operand{at(3, 2), batch(2), param(4, 3, 2).constant()},
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.ScatterNd(c, in[0], in[1], in[2]) },
			ref: func(in []*array) *array {
				y := zeros(4, 3, 2)
				each(in[1].shape, func(i []int) {
					p := []int{int(in[0].at(i[0], 0)), int(in[0].at(i[0], 1)), i[1]}
					y.set(y.at(p...)+in[1].at(i...), p...)
				})
				return y
			}},
		{fn: "Stack", in: []operand{batch(3), batch(3)}, build: func(c models.Context, in []*G.Node) *G.Node { return ops.Stack(c, 1, in...) },
			ref: func(in []*array) *array {
				return fill([]int{in[0].shape[0], 2, 3}, func(i []int) float64 { return in[i[1]].at(i[0], i[2]) })
			}},
		{fn: "Unstack", in: []operand{batch(3, 2)}, build: pick(unstack, 1), ref: func(in []*array) *array {
			return fill([]int{in[0].shape[0], 2}, func(i []int) float64 { return in[0].at(i[0], 1, i[1]) })
		}},
		{fn: "Split", in: []operand{batch(4)}, build: pick(split, 1), ref: cols(2, 2)},
		{fn: "SplitSizes", in: []operand{batch(4)}, build: pick(sizes, 1), ref: cols(1, 3)},
		{fn: "Reverse", in: []operand{batch(3, 2)}, build: func(c models.Context, in []*G.Node) *G.Node { return ops.Reverse(c, in[0], 0, -1) },
			ref: func(in []*array) *array {
				s := in[0].shape
				return fill(s, func(i []int) float64 { return in[0].at(s[0]-1-i[0], i[1], 1-i[2]) })
			}},
		{fn: "StridedSlice", in: []operand{batch(7, 3)}, build: func(c models.Context, in []*G.Node) *G.Node {
			return ops.StridedSlice(c, in[0], ops.All, ops.Range{From: 1, To: -1, Step: 2})
		}, ref: func(in []*array) *array {
			return fill([]int{in[0].shape[0], 3, 3}, func(i []int) float64 { return in[0].at(i[0], 1+2*i[1], i[2]) })
		}},
		{fn: "StridedSlice", detail: "backwards", in: []operand{batch(7)}, build: func(c models.Context, in []*G.Node) *G.Node {
			return ops.StridedSlice(c, in[0], ops.All, ops.Range{From: -2, To: 0, Step: -2})
		}, ref: func(in []*array) *array {
			return fill([]int{in[0].shape[0], 3}, func(i []int) float64 { return in[0].at(i[0], 5-2*i[1]) })
		}},
	}
}

// scanned folds along dimension 1 of a matrix.
func scanned(s ops.Scan, start float64, f func(acc, v float64) float64) func(in []*array) *array {
	return func(in []*array) *array {
		n := in[0].shape[1]
		return fill(in[0].shape, func(i []int) float64 {
			acc := start
			for k := range n {
				before := k < i[1]
				if s.Reverse {
					before = k > i[1]
				}
				if before || k == i[1] && !s.Exclusive {
					acc = f(acc, in[0].at(i[0], k))
				}
			}
			return acc
		})
	}
}

func statisticsCases() []opCase {
	add, times := func(a, v float64) float64 { return a + v }, func(a, v float64) float64 { return a * v }
	var out []opCase
	for _, s := range []ops.Scan{{}, {Exclusive: true}, {Reverse: true}, {Exclusive: true, Reverse: true}} {
		detail := map[bool]string{true: "exclusive"}[s.Exclusive] + map[bool]string{true: " reverse"}[s.Reverse]
		out = append(out,
			opCase{fn: "CumSum", detail: detail, in: []operand{batch(4)}, ref: scanned(s, 0, add),
				build: first(func(c models.Context, x *G.Node) *G.Node { return ops.CumSum(c, x, 1, s) })},
			opCase{fn: "CumProd", detail: detail, in: []operand{batch(4)}, ref: scanned(s, 1, times), tolerance: 1e-4,
				build: first(func(c models.Context, x *G.Node) *G.Node { return ops.CumProd(c, x, -1, s) })})
	}
	variance := func(axis int) func(in []*array) *array {
		return func(in []*array) *array {
			m := meaned(true, axis)(in)
			d := fill(in[0].shape, func(i []int) float64 { v := in[0].at(i...) - m.bcast(i); return v * v })
			return meaned(false, axis)([]*array{d})
		}
	}
	lse := func(axes ...int) func(in []*array) *array {
		return func(in []*array) *array {
			return mapped(math.Log)([]*array{folded(0, add, false, axes...)([]*array{mapped(math.Exp)(in)})})
		}
	}
	ranks := func(descending, index bool) func(in []*array) *array {
		return func(in []*array) *array {
			n := in[0].shape[1]
			return fill(in[0].shape, func(i []int) float64 {
				r := i[1]
				if !descending {
					r = n - 1 - r
				}
				return ranked(in[0], i[0], r, index)
			})
		}
	}
	bit := batch(3).in(0, 2).of(tensor.Bool)
	reduced := func(f func(c models.Context, x *G.Node, r ...ops.Reduction) *G.Node, r ...ops.Reduction) buildFunc {
		return first(func(c models.Context, x *G.Node) *G.Node { return f(c, x, r...) })
	}
	return append(out,
		opCase{fn: "Prod", in: []operand{batch(3, 2)}, build: reduced(ops.Prod, ops.Axes(1)), ref: folded(1, times, false, 1), tolerance: 1e-4},
		opCase{fn: "Prod", detail: "two kept", in: []operand{batch(3, 2)}, build: reduced(ops.Prod, ops.KeepAxes(1, 2)), ref: folded(1, times, true, 1, 2), tolerance: 1e-4},
		opCase{fn: "LogSumExp", in: []operand{batch(3, 2)}, build: reduced(ops.LogSumExp, ops.Axes(1)), ref: lse(1)},
		opCase{fn: "LogSumExp", detail: "all", in: []operand{batch(3)}, build: reduced(ops.LogSumExp), ref: lse()},
		opCase{fn: "Variance", in: []operand{batch(3, 2)}, build: reduced(ops.Variance, ops.Axes(1)), ref: variance(1)},
		opCase{fn: "Std", in: []operand{batch(4)}, build: reduced(ops.Std, ops.Axes(-1)), tolerance: 1e-3,
			ref: func(in []*array) *array { return mapped(math.Sqrt)([]*array{variance(1)(in)}) }},
		opCase{fn: "AllTrue", in: []operand{bit}, noGrad: true, build: reduced(ops.AllTrue, ops.Axes(1)), ref: folded(1, times, false, 1)},
		opCase{fn: "AnyTrue", in: []operand{bit}, noGrad: true, build: reduced(ops.AnyTrue, ops.KeepAxes(1)), ref: folded(0, math.Max, true, 1)},
		opCase{fn: "ArgMin", in: []operand{batch(5)}, noGrad: true, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.ArgMin(c, x, -1) }),
			ref: func(in []*array) *array {
				return fill(in[0].shape[:1], func(i []int) float64 { return ranked(in[0], i[0], 4, true) })
			}},
		opCase{fn: "Sort", in: []operand{batch(5)}, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.Sort(c, x, false) }), ref: ranks(false, false)},
		opCase{fn: "Sort", detail: "long", in: []operand{batch(40)}, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.Sort(c, x, true) }), ref: ranks(true, false)},
		opCase{fn: "ArgSort", in: []operand{batch(5)}, noGrad: true, build: first(func(c models.Context, x *G.Node) *G.Node { return ops.ArgSort(c, x, true) }), ref: ranks(true, true)},
		opCase{fn: "MaskedFill", in: []operand{batch(5), batch(1).in(0, 2).of(tensor.Bool)}, build: second(func(c models.Context, x, m *G.Node) *G.Node { return ops.MaskedFill(c, x, m, -3) }),
			ref: func(in []*array) *array {
				return fill(in[0].shape, func(i []int) float64 {
					if in[1].bcast(i) != 0 {
						return -3
					}
					return in[0].at(i...)
				})
			}})
}
