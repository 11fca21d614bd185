package onnxgraph

import (
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// productOperators multiply matrices.
var productOperators = operators{
	"Gemm": one(gemm), "MatMul": one(matMul), "Einsum": one(einsum), "Det": unary(ops.MatrixDeterminant),
}

// gemm is alpha * A' * B' + beta * C.
func gemm(x *site) *value {
	a, b := x.at(0), x.at(1)
	attrs := graph.Attrs{"transpose_a": x.flag("transA", false)}
	alpha, beta := x.float("alpha", 1), x.float("beta", 1)
	if y := x.codedGemm(alpha, beta); y != nil {
		return y
	}
	if x.flag("transB", false) {
		if b.t != nil { // at translation time
			b = x.transpose(b, []int{1, 0})
		} else {
			attrs["transpose_b"] = true
		}
	}
	if alpha != 1 && b.t != nil {
		b = x.times(b, alpha)
		alpha = 1
	}
	y := x.times(x.op(ops.MatMul, attrs, a, b), alpha)
	if !x.has(2) || beta == 0 {
		return y
	}
	c := x.times(x.at(2), beta)
	if c.rank() == 1 {
		if n, m := c.dims(), y.dims(); m != nil && n[0] > 1 && n[0] == m[1] {
			return x.op(ops.BiasAdd, nil, y, c)
		}
	}
	return x.each(ops.AddV2, nil, y, c)
}

// matMul is NumPy's matmul: a vector is a row on the left and a column on the right.
func matMul(x *site) *value {
	a, b := x.at(0), x.at(1)
	if p := x.codedProduct(a, b, b.rank()-1); p != nil {
		if y := x.bytesProduct(a.coded.u, b.coded.u, p); y != nil {
			return y
		}
	}
	return x.product(a, b)
}

func (b *builder) product(u, v *value) *value {
	p, q := u.rank(), v.rank()
	switch {
	case p < 1 || q < 1:
		refuse("the ranks of the operands are %d and %d (-1: not known)", p, q)
	case p == 1 && q == 1:
		return b.op(ops.Sum, nil, b.each(ops.Mul, nil, u, v), b.i32(0))
	case p == 1:
		y := b.product(b.op(ops.ExpandDims, nil, u, b.i32(0)), v)
		return b.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{-2}}, y)
	case q == 1:
		y := b.product(u, b.op(ops.ExpandDims, nil, v, b.i32(1)))
		return b.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{-1}}, y)
	case p == 2 && q == 2:
		return b.op(ops.MatMul, nil, u, v)
	case q == 2 && v.t != nil && v.t.Shape[1] > 0 && u.dtype.Float(): // one product with many rows
		lead := b.op(ops.StridedSlice, nil, b.shape(u), b.ints(0), b.ints(p-1), b.ints(1))
		y := b.op(ops.MatMul, nil, b.op(ops.Reshape, nil, u, b.ints(-1, v.t.Shape[0])), v)
		return b.op(ops.Reshape, nil, y, b.concat(0, lead, b.ints(v.t.Shape[1])))
	}
	return b.op(ops.BatchMatMulV2, nil, u, v)
}

func einsum(x *site) *value {
	var in []*value
	for i := range x.in {
		in = append(in, x.at(i))
	}
	eq := x.str("equation", "")
	clean := make([]byte, 0, len(eq))
	for i := range len(eq) {
		if eq[i] != ' ' {
			clean = append(clean, eq[i])
		}
	}
	return x.contracted(explicit(string(clean)), in)
}

// contracted is an einsum of any number of operands, from left to right: TensorFlow's op takes two.
func (x *site) contracted(equation []byte, in []*value) *value {
	left, result, _ := strings.Cut(string(equation), "->")
	terms := strings.Split(left, ",")
	if len(terms) != len(in) {
		refuse("equation %q for %d operands", equation, len(in))
	}
	x.dropOnes(terms, in)
	for len(in) > 2 {
		both, later := terms[0]+terms[1], strings.Join(terms[2:], "")+result
		term := ""
		if strings.Contains(both, "...") {
			term = "..."
		}
		for _, c := range both {
			if c != '.' && strings.ContainsRune(later, c) && !strings.ContainsRune(term, c) {
				term += string(c)
			}
		}
		y := x.op(ops.Einsum, graph.Attrs{"equation": []byte(terms[0] + "," + terms[1] + "->" + term)}, in[0], in[1])
		terms, in = append([]string{term}, terms[2:]...), append([]*value{y}, in[2:]...)
	}
	return x.op(ops.Einsum, graph.Attrs{"equation": []byte(strings.Join(terms, ",") + "->" + result)}, in...)
}

// dropOnes takes away the axes of size 1 whose index another operand has with another size: einsum broadcasts them, TensorFlow's op does not.
func (x *site) dropOnes(terms []string, in []*value) {
	longer := func(c rune) bool {
		for i, term := range terms {
			if at, dims := strings.IndexRune(term, c), in[i].dims(); at >= 0 && !strings.Contains(term, ".") && len(dims) == len(term) && dims[at] != 1 {
				return true
			}
		}
		return false
	}
	for i, term := range terms {
		dims := in[i].dims()
		if strings.Contains(term, ".") || len(dims) != len(term) {
			continue
		}
		var axes []int64
		kept := ""
		for axis, c := range term {
			if dims[axis] == 1 && longer(c) {
				axes = append(axes, int64(axis))
			} else {
				kept += string(c)
			}
		}
		if len(axes) > 0 {
			terms[i], in[i] = kept, x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": axes}, in[i])
		}
	}
}

// explicit completes an equation: the result has the indices that occur once, in order.
func explicit(eq string) []byte {
	count := map[byte]int{}
	dots := false
	for i := 0; i < len(eq); i++ {
		switch c := eq[i]; {
		case c == '>':
			return []byte(eq)
		case c == '.':
			dots = true
		case c != ',':
			count[c]++
		}
	}
	out := []byte(eq + "->")
	if dots {
		out = append(out, "..."...)
	}
	for c := range 128 {
		if count[byte(c)] == 1 {
			out = append(out, byte(c))
		}
	}
	return out
}
