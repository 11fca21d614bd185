package stablehlograph

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// lapack has calls of LAPACK and BLAS for CPUs, by their names without the element type. Older versions of JAX pass numbers before the
// matrices. Newer ones, whose names end with _ffi, pass attributes.
var lapack = map[string]func(x *site, numbers []int) []*value{
	"potrf": func(x *site, numbers []int) []*value {
		return x.filled(x.at(0), x.cholesky(x.at(0), x.says(numbers, 0, "uplo", 'L')))
	},
	"trsm":  triangularCall,
	"getrf": factored,
	"geqrf": reflected,
	"orgqr": reflections,
	"gesdd": singular,
	"syevd": eigen,
}

// lapackCall splits the name of a function of LAPACK or BLAS with real elements: lapack_spotrf, lapack_dpotrf_ffi and blas_strsm.
func lapackCall(target string) (name string, numbers bool) {
	_, name, ok := strings.Cut(target, "_")
	if !ok || target != "lapack_"+name && target != "blas_"+name || name == "" || !strings.ContainsRune("sd", rune(name[0])) {
		return "", false
	}
	name, newer := strings.CutSuffix(name[1:], "_ffi")
	return name, !newer
}

// calledLAPACK translates a call of a LAPACK function; it returns false for others.
func calledLAPACK(x *site, target string) ([]*value, bool) {
	name, older := lapackCall(target)
	do := lapack[name]
	if do == nil {
		return nil, false
	}
	y := *x
	var numbers []int
	for older && len(y.in) > 0 && y.in[0].rank() == 0 {
		if v, ok := y.in[0].numbers(); ok {
			numbers = append(numbers, v...)
		} else { // a factor, or the size of an open batch
			numbers = append(numbers, 0)
		}
		y.in = y.in[1:]
	}
	for _, v := range y.in {
		if isComplex(v.dtype) {
			refuse("complex matrices")
		}
	}
	if !older {
		numbers = nil
	} else if len(numbers) < 2 {
		refuse("%d numbers before the matrices", len(numbers))
	}
	return do(&y, numbers), true
}

// says reports whether number i is not 0 or, without numbers, whether the attribute is the letter.
func (x *site) says(numbers []int, i int, name string, letter byte) bool {
	if numbers != nil {
		return numbers[i] != 0
	}
	return x.letter(name) == letter
}

// letter returns an attribute of a call that is a letter.
func (x *site) letter(name string) byte {
	if v, ok := x.setting(name).(int64); ok {
		return byte(v)
	}
	refuse("attribute %s: expected a letter", name)
	return 0
}

// filled returns the results of a call for matrices like v: the given ones, then zeros, for "no error" or working memory.
func (x *site) filled(v *value, first ...*value) []*value {
	for i := len(first); i < len(x.op.Results); i++ {
		first = append(first, x.zeros(x.result(i).DType, x.result(i).Dims, v))
	}
	return first
}

// zeros returns zeros of the given sizes; open sizes are v's batch sizes.
func (x *site) zeros(d tensor.DType, dims []int, v *value) *value {
	return x.spread(scalar(d, 0), dims, x.shapeFrom(dims, x.restSizes(v, without(v.rank()-2))...))
}

func triangularCall(x *site, numbers []int) []*value {
	if numbers != nil && len(numbers) < 4 {
		refuse("%d numbers before the matrices", len(numbers))
	}
	t := triangle{left: x.says(numbers, 0, "side", 'L'), lower: x.says(numbers, 1, "uplo", 'L'), unit: x.says(numbers, 3, "diag", 'U')}
	if t.transposed = numbers != nil && numbers[2] != 0; numbers == nil {
		t.transposed = x.letter("trans_x") != 'N'
	}
	return []*value{x.solve(x.at(0), x.at(1), t)}
}

// eigen returns eigenvectors whose signs may differ from LAPACK's.
func eigen(x *site, numbers []int) []*value {
	v := x.at(0)
	if !x.says(numbers, 0, "uplo", 'L') {
		v = x.swapped(v)
	}
	both := x.several(ops.SelfAdjointEigV2, [][]int{v.dims[:v.rank()-1], v.dims}, graph.Attrs{"compute_v": true}, v)
	return x.filled(v, both[1], both[0])
}

// singular returns singular vectors whose signs may differ from LAPACK's.
func singular(x *site, numbers []int) []*value {
	v := x.at(0)
	whole, vectors := false, false
	if numbers != nil {
		whole, vectors = numbers[0] != 0, numbers[1] != 0
	} else {
		mode := x.letter("mode")
		whole, vectors = mode == 'A', mode != 'N'
	}
	right := slices.Clone(x.result(3).Dims)
	n := len(right)
	right[n-1], right[n-2] = right[n-2], right[n-1]
	all := x.several(ops.Svd, [][]int{x.result(1).Dims, x.result(2).Dims, right}, graph.Attrs{"compute_uv": vectors, "full_matrices": whole}, v)
	if !vectors {
		return x.filled(v, v, all[0])
	}
	return x.filled(v, v, all[0], all[1], x.swapped(all[2]))
}

// maxSide bounds rows and columns of matrices that are factorized step by step, so that sizes in bytes do not overflow.
const maxSide = 1 << 28

// matrixSteps returns the sizes of matrices, which must be known, and the number of columns to factorize. It pays for upTo of both sizes.
func (x *site) matrixSteps(v *value) (rows, columns, steps int) {
	n := v.rank()
	if rows, columns = v.dims[n-2], v.dims[n-1]; rows < 0 || columns < 0 {
		refuse("matrices whose sizes are open")
	}
	if max(rows, columns) > maxSide {
		refuse("matrices of %d rows and %d columns: expected at most %d", rows, columns, maxSide)
	}
	x.t.pay(8 * (rows + columns))
	return rows, columns, min(rows, columns)
}

// upTo returns the numbers 0 to n-1.
func upTo(n int) *value {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return ints(all...)
}

// entry selects column i of matrices, or element i of vectors.
func (b *builder) entry(v, i *value) *value {
	n := v.rank()
	return b.node(ops.GatherV2, v.dims[:n-1], nil, v, i, scalar(tensor.Int32, float64(n-1)))
}

// beside adds a dimension at the end.
func (b *builder) beside(v *value) *value { return b.insert(v, v.rank()) }

// lessOuter subtracts the product of a column, [..., rows], and a row, [..., columns], from matrices.
func (x *site) lessOuter(a, column, row *value) *value {
	n := row.rank()
	return x.each(ops.Sub, nil, a, x.each(ops.Mul, nil, x.beside(column), x.insert(row, n-1)))
}

// reflectedBy reflects matrices: it returns a - m·(w·(m·a)), with a mirror m and weights w of a's columns.
func (x *site) reflectedBy(a, mirror, weights *value) *value {
	n := a.rank()
	dims := append(slices.Clone(a.dims[:n-2]), a.dims[n-1])
	return x.lessOuter(a, mirror, x.each(ops.Mul, nil, x.product("...r,...rc->...c", dims, mirror, a), weights))
}

// reflected is the QR factorization by Householder reflections, stored as in LAPACK: the triangle, below it the reflections, and their
// factors.
func reflected(x *site, _ []int) []*value {
	v := x.at(0)
	rows, columns, steps := x.matrixSteps(v)
	batch := v.dims[:v.rank()-2]
	row, column, step := upTo(rows), upTo(columns), upTo(steps)
	first := []*value{scalar(tensor.Int32, 0), v, x.zeros(v.dtype, append(slices.Clone(batch), steps), v)}
	out := x.loop(first, func(x *site, now []*value) *value {
		return x.each(ops.Less, nil, now[0], scalar(tensor.Int32, float64(steps)))
	}, func(x *site, now []*value) []*value {
		i, a := now[0], now[1]
		at, below := x.each(ops.Equal, nil, row, i), x.each(ops.Greater, nil, row, i)
		was := x.entry(a, i)
		mirror, factor, diagonal := x.reflection(was, i, below)
		mirror = x.each(ops.AddV2, nil, mirror, x.cast(at, v.dtype))
		right := x.cast(x.each(ops.Greater, nil, column, i), v.dtype)
		a = x.reflectedBy(a, mirror, x.each(ops.Mul, nil, right, x.beside(factor)))
		becomes := x.each(ops.SelectV2, nil, below, mirror, x.each(ops.SelectV2, nil, at, x.beside(diagonal), was))
		a = x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, column, i), x.beside(becomes), a)
		factors := x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, step, i), x.beside(factor), now[2])
		return []*value{x.each(ops.AddV2, nil, i, scalar(tensor.Int32, 1)), a, factors}
	})
	return x.filled(v, out[1:]...)
}

// reflection returns the reflection that zeroes a column below element i: the mirror below i, where it is 1, and its factor. Element i
// becomes diagonal.
func (x *site) reflection(column, i, below *value) (mirror, factor, diagonal *value) {
	d, dims := column.dtype, column.dims[:column.rank()-1]
	zero := scalar(d, 0)
	head, tail := x.entry(column, i), x.each(ops.SelectV2, nil, below, column, zero)
	rest := x.node(ops.Sum, dims, graph.Attrs{"keep_dims": false}, x.each(ops.Mul, nil, tail, tail), ints(len(dims)))
	length := x.each(ops.Sqrt, nil, x.each(ops.AddV2, nil, x.each(ops.Mul, nil, head, head), rest))
	diagonal = x.each(ops.SelectV2, nil, x.each(ops.GreaterEqual, nil, head, zero), x.each(ops.Neg, nil, length), length)
	none := x.each(ops.Equal, nil, rest, zero)
	unless := func(v *value) *value { return x.each(ops.SelectV2, nil, none, zero, v) }
	factor = unless(x.each(ops.RealDiv, nil, x.each(ops.Sub, nil, diagonal, head), diagonal))
	scale := unless(x.each(ops.RealDiv, nil, scalar(d, 1), x.each(ops.Sub, nil, head, diagonal)))
	return x.each(ops.Mul, nil, tail, x.beside(scale)), factor, x.each(ops.SelectV2, nil, none, head, diagonal)
}

// reflections returns the first columns of the product of the reflections that reflected stores.
func reflections(x *site, _ []int) []*value {
	v, factors := x.at(0), x.at(1)
	rows, columns, _ := x.matrixSteps(v)
	steps := factors.dims[factors.rank()-1]
	if steps < 0 {
		refuse("reflections whose number is open")
	}
	x.t.pay(v.dtype.Size() * rows * columns)
	row, whole := upTo(rows), tensor.New(v.dtype, rows, columns)
	for i := range min(rows, columns) {
		at := (i*columns + i) * v.dtype.Size()
		copy(whole.Bytes[at:], scalar(v.dtype, 1).t.Bytes)
	}
	first := []*value{scalar(tensor.Int32, float64(steps-1)), x.spread(constant(whole), v.dims, x.shapeFrom(v.dims, x.openSizes(v)...))}
	out := x.loop(first, func(x *site, now []*value) *value {
		return x.each(ops.GreaterEqual, nil, now[0], scalar(tensor.Int32, 0))
	}, func(x *site, now []*value) []*value {
		i, below := now[0], x.each(ops.Greater, nil, row, now[0])
		mirror := x.each(ops.SelectV2, nil, below, x.entry(v, i), x.cast(x.each(ops.Equal, nil, row, i), v.dtype))
		q := x.reflectedBy(now[1], mirror, x.beside(x.entry(factors, i)))
		return []*value{x.each(ops.Sub, nil, i, scalar(tensor.Int32, 1)), q}
	})
	return x.filled(v, out[1])
}

// factored is LAPACK's LU factorization: both triangles in one matrix, and for each row the row it was exchanged with, counted from 1.
func factored(x *site, _ []int) []*value {
	v := x.at(0)
	rows, columns, steps := x.matrixSteps(v)
	n := v.rank()
	batch := slices.Clone(v.dims[:n-2])
	row, column, step := upTo(rows), upTo(columns), upTo(steps)
	first := []*value{scalar(tensor.Int32, 0), v, x.zeros(tensor.Int32, append(slices.Clone(batch), steps), v)}
	out := x.loop(first, func(x *site, now []*value) *value {
		return x.each(ops.Less, nil, now[0], scalar(tensor.Int32, float64(steps)))
	}, func(x *site, now []*value) []*value {
		i, a := now[0], now[1]
		above := x.each(ops.Less, nil, row, i)
		sizes := x.each(ops.SelectV2, nil, above, scalar(v.dtype, -1), x.each(ops.Abs, nil, x.entry(a, i)))
		largest := x.beside(x.node(ops.ArgMax, batch, graph.Attrs{"output_type": tensor.Int32}, sizes, scalar(tensor.Int32, float64(n-2))))
		pivots := x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, step, i), x.each(ops.AddV2, nil, largest, scalar(tensor.Int32, 1)), now[2])
		at := x.each(ops.Equal, nil, row, i)
		from := x.each(ops.SelectV2, nil, at, largest, x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, row, largest), i, row))
		a = x.node(ops.GatherV2, v.dims, graph.Attrs{"batch_dims": int64(n - 2)}, a, from, scalar(tensor.Int32, float64(n-2)))
		left := x.entry(a, i)
		pivot := x.beside(x.entry(left, i))
		below := x.each(ops.Greater, nil, row, i)
		divided := x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, pivot, scalar(v.dtype, 0)), left, x.each(ops.RealDiv, nil, left, pivot))
		left = x.each(ops.SelectV2, nil, below, divided, scalar(v.dtype, 0))
		right := x.each(ops.Greater, nil, column, i)
		top := x.node(ops.GatherV2, append(slices.Clone(batch), columns), nil, a, i, scalar(tensor.Int32, float64(n-2)))
		a = x.lessOuter(a, left, x.each(ops.SelectV2, nil, right, top, scalar(v.dtype, 0)))
		here := x.each(ops.LogicalAnd, nil, x.beside(below), x.each(ops.Equal, nil, column, i))
		a = x.each(ops.SelectV2, nil, here, x.beside(left), a)
		return []*value{x.each(ops.AddV2, nil, i, scalar(tensor.Int32, 1)), a, pivots}
	})
	return x.filled(v, out[1:]...)
}
