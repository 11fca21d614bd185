package ops_test

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// segmented reduces the parts of a tensor by ids in another one. Each segment starts as start; finish gets the total and
// the number of parts.
func segmented(n int, start float64, f func(acc, v float64) float64, finish func(acc float64, parts int) float64) func(in []*array) *array {
	return func(in []*array) *array {
		x, ids := in[0], in[1]
		rest := x.shape[len(ids.shape):]
		y, inner, parts := zeros(append([]int{n}, rest...)...), len(zeros(rest...).data), make([]int, n)
		for i := range y.data {
			y.data[i] = start
		}
		for r, v := range ids.data {
			if v < 0 {
				continue
			}
			k := int(v)
			parts[k]++
			for i := range inner {
				y.data[k*inner+i] = f(y.data[k*inner+i], x.data[r*inner+i])
			}
		}
		for i := range y.data {
			y.data[i] = finish(y.data[i], parts[i/inner])
		}
		return y
	}
}

// segmentCases have four segments, without parts of some.
func segmentCases() []opCase {
	const n = 4
	add, times := func(a, v float64) float64 { return a + v }, func(a, v float64) float64 { return a * v }
	same := func(a float64, _ int) float64 { return a }
	kinds := []struct {
		fn  string
		op  func(c models.Context, x, ids *G.Node, segments int) *G.Node
		ref func(in []*array) *array
	}{
		{"UnsortedSegmentSum", ops.UnsortedSegmentSum, segmented(n, 0, add, same)},
		{"UnsortedSegmentMean", ops.UnsortedSegmentMean, segmented(n, 0, add, func(a float64, parts int) float64 { return a / float64(max(parts, 1)) })},
		{"UnsortedSegmentSqrtN", ops.UnsortedSegmentSqrtN, segmented(n, 0, add, func(a float64, parts int) float64 { return a / math.Sqrt(float64(max(parts, 1))) })},
		{"UnsortedSegmentProd", ops.UnsortedSegmentProd, segmented(n, 1, times, same)},
		// The lowest and highest numbers, of empty segments, differ between the float types.
		{"UnsortedSegmentMax", bounded(ops.UnsortedSegmentMax), segmented(n, -9, math.Max, same)},
		{"UnsortedSegmentMin", bounded(ops.UnsortedSegmentMin), segmented(n, 9, math.Min, same)},
	}
	numbers := func(low float64, d tensor.DType, dims ...int) operand { return batch(dims...).in(low, n-1).of(d) }
	var out []opCase
	for _, k := range kinds {
		build := func(c models.Context, in []*G.Node) *G.Node { return k.op(c, in[0], in[1], n) }
		one := opCase{fn: k.fn, in: []operand{batch(2, 3), numbers(0, tensor.Int32, 2)}, build: build, ref: k.ref, tolerance: 1e-4}
		out = append(out, one)
		one.detail, one.in = "rows", []operand{batch(3), numbers(0, tensor.Int64)}
		out = append(out, one)
		one.detail, one.ours, one.in = "negative", true, []operand{batch(5, 3), numbers(-2, tensor.Int64, 5)}
		out = append(out, one)
	}
	// Two zeros in one segment, one in another.
	product := out[9]
	product.detail = "with zeros"
	product.build = func(c models.Context, in []*G.Node) *G.Node {
		return ops.UnsortedSegmentProd(c, ops.Relu(c, in[0]), in[1], n)
	}
	product.ref = func(in []*array) *array {
		return segmented(n, 1, times, same)([]*array{mapped(func(x float64) float64 { return max(x, 0) })(in), in[1]})
	}
	out = append(out, product)
	for _, k := range kinds[4:] {
		op := map[string]func(c models.Context, x, ids *G.Node, segments int) *G.Node{"UnsortedSegmentMax": ops.UnsortedSegmentMax, "UnsortedSegmentMin": ops.UnsortedSegmentMin}[k.fn]
		out = append(out, opCase{fn: k.fn, detail: "none empty", in: []operand{batch(2, 3), {shape: []int{-1, 2}, dtype: tensor.Int32, draw: func(rows int) []float64 {
			return []float64{1, 0, 1, 1, 0, 1}[:2*rows]
		}}}, build: func(c models.Context, in []*G.Node) *G.Node { return op(c, in[0], in[1], 2) },
			ref: func(in []*array) *array {
				y := k.ref(in)
				return &array{[]int{2, 3}, y.data[:6]}
			}})
	}
	return out
}

// bounded keeps a result within -9 and 9.
func bounded(f func(c models.Context, x, ids *G.Node, segments int) *G.Node) func(c models.Context, x, ids *G.Node, segments int) *G.Node {
	return func(c models.Context, x, ids *G.Node, segments int) *G.Node {
		return ops.ClipByValue(c, f(c, x, ids, segments), -9, 9)
	}
}

// onMatrices computes a matrix from each matrix of the last two dimensions.
func onMatrices(f func(m *array) *array) func(in []*array) *array {
	return func(in []*array) *array {
		x := in[0]
		r := len(x.shape)
		n := x.shape[r-1]
		y := zeros(x.shape...)
		for at := 0; at < len(x.data); at += n * n {
			copy(y.data[at:], f(&array{[]int{n, n}, x.data[at : at+n*n]}).data)
		}
		return y
	}
}

// inverted is Gauss' and Jordan's method, without pivots.
func inverted(m *array) *array {
	n := m.shape[0]
	a, y := fill(m.shape, func(i []int) float64 { return m.at(i...) }), zeros(n, n)
	for i := range n {
		y.set(1, i, i)
	}
	for k := range n {
		by := a.at(k, k)
		for j := range n {
			a.set(a.at(k, j)/by, k, j)
			y.set(y.at(k, j)/by, k, j)
		}
		for i := range n {
			if by := a.at(i, k); i != k {
				for j := range n {
					a.set(a.at(i, j)-by*a.at(k, j), i, j)
					y.set(y.at(i, j)-by*y.at(k, j), i, j)
				}
			}
		}
	}
	return y
}

// positive returns x·xᵀ + I, which is positive definite.
func positiveDefinite(m *array) *array {
	n := m.shape[0]
	return fill(m.shape, func(i []int) float64 {
		sum := truth(i[0] == i[1])
		for k := range n {
			sum += m.at(i[0], k) * m.at(i[1], k)
		}
		return sum
	})
}

// lowerTriangle is Cholesky's decomposition by rows.
func lowerTriangle(m *array) *array {
	n := m.shape[0]
	l := zeros(n, n)
	for i := range n {
		for j := range i + 1 {
			sum := m.at(i, j)
			for k := range j {
				sum -= l.at(i, k) * l.at(j, k)
			}
			if i == j {
				l.set(math.Sqrt(sum), i, i)
			} else {
				l.set(sum/l.at(j, j), i, j)
			}
		}
	}
	return l
}

func matrixCases() []opCase {
	unit := func(c models.Context, like *G.Node, by float64) *G.Node {
		t := tensor.New(tensor.Float64, 3, 3)
		for i := range 3 {
			tensor.Values[float64](t)[i*4] = by
		}
		return ops.Cast(c, ops.Constant(c, t), models.GraphType(like.Dtype()))
	}
	inverse := func(c models.Context, in []*G.Node) *G.Node {
		return ops.MatrixInverse(c, ops.Add(c, in[0], unit(c, in[0], 3)))
	}
	cholesky := func(c models.Context, in []*G.Node) *G.Node {
		return ops.Cholesky(c, ops.Add(c, ops.BatchMatMul(c, in[0], in[0], false, true), unit(c, in[0], 1)))
	}
	shifted := onMatrices(func(m *array) *array {
		return inverted(fill(m.shape, func(i []int) float64 { return m.at(i...) + 3*truth(i[0] == i[1]) }))
	})
	factor := onMatrices(func(m *array) *array { return lowerTriangle(positiveDefinite(m)) })
	gram := func(c models.Context, in []*G.Node) *G.Node { // one row per row of the batch
		k := ops.MatMulT(c, in[0], in[0], false, true)
		return ops.Cholesky(c, ops.Add(c, k, ops.Cast(c, ops.Equal(c, ops.ExpandDims(c, in[1], 1), ops.ExpandDims(c, in[1], 0)), models.GraphType(in[0].Dtype()))))
	}
	return []opCase{
		{fn: "MatrixInverse", in: []operand{batch(3, 3).in(-0.9, 0.9)}, build: inverse, ref: shifted, tolerance: 1e-4},
		{fn: "MatrixInverse", detail: "one", in: []operand{param(3, 3).in(-0.9, 0.9)}, build: inverse, ref: shifted, tolerance: 1e-4},
		{fn: "Cholesky", in: []operand{batch(3, 3).in(-0.9, 0.9)}, build: cholesky, ref: factor, tolerance: 1e-4},
		{fn: "Cholesky", detail: "several batches", in: []operand{batch(2, 3, 3).in(-0.9, 0.9)}, build: cholesky, ref: factor, tolerance: 1e-4},
		{fn: "Cholesky", detail: "of the batch", in: []operand{batch(2), {shape: []int{-1}, dtype: tensor.Int32, draw: func(rows int) []float64 {
			return []float64{0, 1, 2}[:rows]
		}}}, build: gram, tolerance: 1e-4, ref: func(in []*array) *array {
			x := in[0]
			n := x.shape[0]
			return lowerTriangle(fill([]int{n, n}, func(i []int) float64 {
				return truth(i[0] == i[1]) + x.at(i[0], 0)*x.at(i[1], 0) + x.at(i[0], 1)*x.at(i[1], 1)
			}))
		}},
	}
}

func scatterCases() []opCase {
	at := operand{shape: []int{3, 1}, dtype: tensor.Int32, draw: func(int) []float64 { return []float64{4, 0, 2} }}
	again := operand{shape: []int{3, 1}, dtype: tensor.Int64, draw: func(int) []float64 { return []float64{4, 0, 4} }}
	put := func(add bool) func(in []*array) *array {
		return func(in []*array) *array {
			y := fill(in[0].shape, func(i []int) float64 { return in[0].at(i...) })
			each(in[2].shape, func(i []int) {
				k, v := int(in[1].data[i[0]]), in[2].at(i...)
				if add {
					v += y.at(k, i[1])
				}
				y.set(v, k, i[1])
			})
			return y
		}
	}
	three := func(f func(c models.Context, x, indices, updates *G.Node) *G.Node) buildFunc {
		return func(c models.Context, in []*G.Node) *G.Node { return f(c, in[0], in[1], in[2]) }
	}
	return []opCase{
		{fn: "TensorScatterUpdate", in: []operand{param(5, 2), at, param(3, 2)}, build: three(ops.TensorScatterUpdate), ref: put(false)},
		{fn: "TensorScatterUpdate", detail: "twice", in: []operand{param(5, 2), again, param(3, 2)}, noGrad: true, build: three(ops.TensorScatterUpdate), ref: put(false)},
		{fn: "TensorScatterAdd", in: []operand{param(5, 2), again, param(3, 2)}, build: three(ops.TensorScatterAdd), ref: put(true)},
	}
}

// randomCases do not check values: TestTensorFlowAgrees compares values, and TestRandomNumbers checks their distribution.
func randomCases() []opCase {
	zero := func(in []*array) *array { return zeros(in[0].shape...) }
	none := func(f func(c models.Context, x *G.Node) *G.Node) buildFunc {
		return first(func(c models.Context, x *G.Node) *G.Node { return ops.Mul(c, f(c, x), ops.ZerosLike(c, x)) })
	}
	x := batch(5).constant()
	return []opCase{
		{fn: "RandomUniformIn", in: []operand{x}, noGrad: true, ref: zero, build: none(func(c models.Context, x *G.Node) *G.Node { return ops.RandomUniformIn(c, x, -1, 2) })},
		{fn: "RandomNormal", in: []operand{x}, noGrad: true, ref: zero, build: none(func(c models.Context, x *G.Node) *G.Node { return ops.RandomNormal(c, x, 1, 2) })},
		{fn: "TruncatedNormal", in: []operand{x}, noGrad: true, ref: zero, build: none(func(c models.Context, x *G.Node) *G.Node { return ops.TruncatedNormal(c, x, 1, 2) })},
		{fn: "RandomInts", in: []operand{x}, noGrad: true, ref: zero, build: none(func(c models.Context, x *G.Node) *G.Node {
			return ops.Cast(c, ops.RandomInts(c, x, -3, 9, tensor.Int64), models.GraphType(x.Dtype()))
		})},
	}
}
