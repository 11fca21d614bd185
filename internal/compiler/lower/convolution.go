package lower

import (
	"reflect"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Gorgonia writes a convolution of x [b,c,h,w] with f [l,c,kh,kw] as a product
// of matrices, reshape(im2col(x)) · reshape(f)ᵀ, which gives [b·m·n, l]. The three
// products that come from it are recognised: the value and the two gradients.

// columns returns the im2col op that n reshapes, and its operand, or nil.
func (l *lowering) columns(n *G.Node) (op *site, x *G.Node) {
	if opName(n) != "reshapeOp" || !l.virtual[n] {
		return nil, nil
	}
	im := l.kids[n][0]
	if opName(im) != "im2colOp" {
		return nil, nil
	}
	t, err := typeOf(im)
	if err != nil {
		return nil, nil
	}
	s := &site{l: l, node: im, op: im.Op(), v: reflect.ValueOf(im.Op()), out: t, shape: t.Shape.At(0), scope: l.scopeOf(n)}
	return s, l.kids[im][0]
}

// opName is typeName for a node, "" for a leaf.
func opName(n *G.Node) string {
	if n.Op() == nil {
		return ""
	}
	return typeName(n.Op())
}

// convolution lowers a product whose operand is a reshaped im2col; ok is false for other products.
func (l *lowering) convolution(n *G.Node, t graph.Type) (v Value, ok bool, err error) {
	kids := l.kids[n]
	op := reflect.ValueOf(n.Op())
	transA, transB := op.FieldByName("transA").Bool(), op.FieldByName("transB").Bool()
	if c, x := l.columns(kids[0]); c != nil && !transA && transB {
		v.Output, err = c.conv(l.image(c, x), l.filter(c, kids[1], x), t)
		return v, true, err
	}
	if c, x := l.columns(kids[1]); c != nil && transA && !transB {
		v.Output, err = c.filterGrad(l.image(c, x), l.Dense(c.scope, l.memo[kids[0]][0]), t)
		return v, true, err
	}
	return Value{}, false, nil
}

// image returns the convolution's operand as [b,h,w,c].
func (l *lowering) image(c *site, x *G.Node) graph.Output {
	return c.transpose(l.Dense(c.scope, l.memo[x][0]), 0, 2, 3, 1)
}

// filter returns the filter, lowered as [l, c·kh·kw], as [kh,kw,c,l].
func (l *lowering) filter(c *site, f, x *G.Node) graph.Output {
	m := l.Dense(c.scope, l.memo[f][0])
	return c.transpose(c.reshape(m, sizes(m)[0], x.Shape()[1], c.int("h"), c.int("w")), 2, 3, 1, 0)
}

// convAttrs reads strides and padding; dilation is refused.
func (s *site) convAttrs(d tensor.DType) (graph.Attrs, error) {
	if s.int("dilationH") != 1 || s.int("dilationW") != 1 {
		return nil, unsupported(s.node, "its dilation is not 1")
	}
	h, w := int64(s.int("padH")), int64(s.int("padW"))
	a := graph.Attrs{"T": d, "data_format": []byte("NHWC"), "strides": []int64{1, int64(s.int("strideH")), int64(s.int("strideW")), 1},
		"dilations": []int64{1, 1, 1, 1}, "padding": []byte("VALID"), "explicit_paddings": graph.EmptyList{}, "use_cudnn_on_gpu": true}
	if h != 0 || w != 0 {
		a["padding"], a["explicit_paddings"] = []byte("EXPLICIT"), []int64{0, 0, h, h, w, w, 0, 0}
	}
	return a, nil
}

// conv gives the value, [b·m·n, l]; s is at the im2col op.
func (s *site) conv(x, f graph.Output, t graph.Type) (graph.Output, error) {
	attrs, err := s.convAttrs(x.DType())
	if err != nil {
		return graph.Output{}, err
	}
	y := s.add("Conv2D", like(x, s.shape[0], s.shape[1], s.shape[2], sizes(f)[3]), attrs, x, f)
	return s.reshape(y, t.Shape.At(0)...), nil
}

// filterGrad gives the gradient of the flattened filter, [l, c·kh·kw].
func (s *site) filterGrad(x, dy graph.Output, t graph.Type) (graph.Output, error) {
	attrs, err := s.convAttrs(x.DType())
	if err != nil {
		return graph.Output{}, err
	}
	layers := t.Shape.Dims[0].Const
	shape := []int{s.int("h"), s.int("w"), sizes(x)[3], layers}
	dy = s.reshape(dy, s.shape[0], s.shape[1], s.shape[2], layers)
	df := s.add("Conv2DBackpropFilter", like(x, shape...), attrs, x, s.vector("Conv2DBackpropFilter/filter_sizes", shape...), dy)
	return s.reshape(s.transpose(df, 3, 2, 0, 1), t.Shape.At(0)...), nil
}

// lowerCol2Im gives the gradient of the image: its operand is
// reshape(dy · reshape(f)), from which dy and f are read back.
func lowerCol2Im(s *site) (graph.Output, error) {
	l := s.l
	cols := l.kids[s.node][0]
	if opName(cols) != "reshapeOp" || opName(l.kids[cols][0]) != "linAlgBinOp" {
		return graph.Output{}, unsupported(s.node, "it is not the gradient of a Conv2d")
	}
	product := l.kids[cols][0]
	dyNode, fNode := l.kids[product][0], l.kids[product][1]
	op := reflect.ValueOf(product.Op())
	if op.FieldByName("transA").Bool() || op.FieldByName("transB").Bool() {
		return graph.Output{}, unsupported(s.node, "it is not the gradient of a Conv2d")
	}
	dy, m := l.Dense(s.scope, l.memo[dyNode][0]), l.Dense(s.scope, l.memo[fNode][0])
	attrs, err := s.convAttrs(dy.DType())
	if err != nil {
		return graph.Output{}, err
	}
	layers, chans := sizes(m)[0], s.shape[1]
	f := s.transpose(s.reshape(m, layers, chans, s.int("h"), s.int("w")), 2, 3, 1, 0)
	grid := cols.Shape()
	dy = s.reshape(dy, grid[0], grid[1], grid[2], layers)
	shape := []int{s.shape[0], s.shape[2], s.shape[3], chans}
	dx := s.add("Conv2DBackpropInput", like(dy, shape...), attrs, s.shapeOf(shape, dy), f, dy)
	return s.transpose(dx, 0, 3, 1, 2), nil
}

// shapeOf packs a shape whose first dimension is like's, read at run time.
func (s *site) shapeOf(shape []int, like graph.Output) graph.Output {
	dims := []graph.Output{s.size(like, 0)}
	for _, n := range shape[1:] {
		dims = append(dims, s.scalar("input_sizes/dim", tensor.Int32, float64(n)))
	}
	return s.add("Pack", graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(len(shape))},
		graph.Attrs{"T": tensor.Int32, "N": int64(len(shape)), "axis": int64(0)}, dims...)
}
