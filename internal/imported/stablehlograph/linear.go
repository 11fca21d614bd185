package stablehlograph

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// letters name the dimensions of products.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// dotGeneral sums over pairs of contracting dimensions, and keeps pairs of batch dimensions.
func dotGeneral(x *site) *value {
	a, b := x.at(0), x.at(1)
	batchA, batchB := x.ints("lhs_batching_dimensions"), x.ints("rhs_batching_dimensions")
	sumA, sumB := x.ints("lhs_contracting_dimensions"), x.ints("rhs_contracting_dimensions")
	if len(batchA) != len(batchB) || len(sumA) != len(sumB) {
		refuse("dimensions %v and %v, %v and %v", batchA, batchB, sumA, sumB)
	}
	to := x.result(0)
	work := productType(a.dtype, b.dtype, to.DType)
	a, b = x.cast(a, work), x.cast(b, work)
	if a.rank() == 2 && b.rank() == 2 && len(batchA) == 0 && len(sumA) == 1 {
		attrs := graph.Attrs{"transpose_a": sumA[0] == 0, "transpose_b": sumB[0] == 1}
		return x.cast(x.node(ops.MatMul, to.Dims, attrs, a, b), to.DType)
	}
	if a.rank()+b.rank() > len(letters) {
		refuse("operands of ranks %d and %d", a.rank(), b.rank())
	}
	left, right := []byte(letters[:a.rank()]), []byte(letters[a.rank():a.rank()+b.rank()])
	for i := range batchA {
		right[batchB[i]] = left[batchA[i]]
	}
	for i := range sumA {
		right[sumB[i]] = left[sumA[i]]
	}
	var out []byte
	for _, d := range batchA {
		out = append(out, left[d])
	}
	for _, d := range without(a.rank(), slices.Concat(batchA, sumA)...) {
		out = append(out, left[d])
	}
	for _, d := range without(b.rank(), slices.Concat(batchB, sumB)...) {
		out = append(out, right[d])
	}
	return x.cast(x.product(string(left)+","+string(right)+"->"+string(out), to.Dims, a, b), to.DType)
}

// product is an Einsum.
func (x *site) product(equation string, dims []int, in ...*value) *value {
	return x.node(ops.Einsum, dims, graph.Attrs{"equation": []byte(equation)}, in...)
}

// productType returns the type to compute products of two types in.
func productType(a, b, to tensor.DType) tensor.DType {
	switch {
	case isComplex(to), to == tensor.Float64, to == tensor.Float32:
		return to
	case to.Half():
		return tensor.Float32 // to round the sums once
	case to == tensor.Int32 || isInteger(to) && to.Size() < 4:
		return tensor.Int32
	case isInteger(to):
		return tensor.Int64
	}
	refuse("products of %v and %v as %v", a, b, to)
	return to
}

func dot(x *site) *value {
	a, b := x.at(0), x.at(1)
	to := x.result(0)
	work := productType(a.dtype, b.dtype, to.DType)
	left, right := letters[:a.rank()], letters[a.rank()-1:a.rank()-1+b.rank()]
	out := left[:len(left)-1] + right[1:]
	return x.cast(x.product(left+","+right+"->"+out, to.Dims, x.cast(a, work), x.cast(b, work)), to.DType)
}

func einsum(x *site) *value {
	equation, _ := x.op.Attrs["einsum_config"].(string)
	if strings.Count(equation, ",") != 1 {
		refuse("einsum_config %q", equation)
	}
	return x.product(equation, x.result(0).Dims, x.at(0), x.at(1))
}

// batchNormInference normalizes by given statistics.
func batchNormInference(x *site) *value {
	v, axis := x.at(0), x.int("feature_index")
	along := func(i int) *value {
		dims := slices.Repeat([]int{1}, v.rank()-axis)
		dims[0] = x.at(i).dims[0]
		return x.reshape(x.at(i), dims...)
	}
	scale, add, mean, variance := along(1), along(2), along(3), along(4)
	deviation := x.each(ops.Sqrt, nil, x.each(ops.AddV2, nil, variance, scalar(v.dtype, x.float("epsilon"))))
	y := x.each(ops.RealDiv, nil, x.each(ops.Sub, nil, v, mean), deviation)
	return x.each(ops.AddV2, nil, x.each(ops.Mul, nil, y, scale), add)
}

// swapped swaps the last two dimensions.
func (x *site) swapped(v *value) *value {
	n := v.rank()
	return x.transpose(v, append(without(n-2), n-1, n-2)...)
}

// cholesky: elements above, or below, the diagonal may be anything.
func cholesky(x *site) *value { return x.cholesky(x.at(0), x.flag("lower")) }

func (x *site) cholesky(v *value, lower bool) *value {
	if isComplex(v.dtype) {
		refuse("complex matrices")
	}
	if lower {
		return x.node(ops.Cholesky, v.dims, nil, v)
	}
	return x.swapped(x.node(ops.Cholesky, v.dims, nil, x.swapped(v)))
}

// triangle describes a system of equations with a triangular matrix: a·y = b, or y·a = b.
type triangle struct{ left, lower, transposed, unit bool }

func triangularSolve(x *site) *value {
	turned := x.enum("transpose_a")
	return x.solve(x.at(0), x.at(1), triangle{x.flag("left_side"), x.flag("lower"), turned == "TRANSPOSE" || turned == "ADJOINT", x.flag("unit_diagonal")})
}

func (x *site) solve(a, b *value, t triangle) *value {
	if isComplex(a.dtype) {
		refuse("complex matrices")
	}
	if t.unit {
		if a.dims[a.rank()-1] < 0 {
			refuse("a unit diagonal of matrices whose sizes are open")
		}
		dims := a.dims[:a.rank()-1]
		a = x.node(ops.MatrixSetDiag, a.dims, nil, a, x.spread(scalar(a.dtype, 1), dims, x.shapeFrom(dims, x.openSizes(a)...)))
	}
	if t.left {
		return x.node(ops.MatrixTriangularSolve, b.dims, graph.Attrs{"lower": t.lower, "adjoint": t.transposed}, a, b)
	}
	b = x.swapped(b)
	return x.swapped(x.node(ops.MatrixTriangularSolve, b.dims, graph.Attrs{"lower": t.lower, "adjoint": !t.transposed}, a, b))
}

// transforms has the ops by kind, and by the number of dimensions that are transformed.
var transforms = map[string][3]*ops.Def{"FFT": {ops.FFT, ops.FFT2D, ops.FFT3D}, "IFFT": {ops.IFFT, ops.IFFT2D, ops.IFFT3D}, "RFFT": {ops.RFFT, ops.RFFT2D, ops.RFFT3D}, "IRFFT": {ops.IRFFT, ops.IRFFT2D, ops.IRFFT3D}}

// fft transforms the last dimensions.
func fft(x *site) *value {
	length, kind := x.ints("fft_length"), x.enum("fft_type")
	all, ok := transforms[kind]
	if !ok || len(length) < 1 || len(length) > 3 {
		refuse("fft_type %s of %d dimensions", kind, len(length))
	}
	d, to := all[len(length)-1], x.result(0)
	switch kind {
	case "RFFT":
		return x.node(d, to.Dims, graph.Attrs{"Tcomplex": to.DType}, x.at(0), ints(length...))
	case "IRFFT":
		return x.node(d, to.Dims, graph.Attrs{"Treal": to.DType}, x.at(0), ints(length...))
	}
	return x.node(d, to.Dims, nil, x.at(0))
}
