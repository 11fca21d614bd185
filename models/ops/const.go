package ops

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Constant adds a tensor whose value is part of the graph. (Gorgonia merges its own
// constants if they print alike.)
func Constant(c models.Context, t *tensor.Tensor) *G.Node {
	if !ready(c, "Const") {
		return nil
	}
	if t == nil {
		c.Core().Failf("Const: the tensor is nil")
		return nil
	}
	dt, err := models.GorgoniaType(t.DType)
	if size := t.Len() * t.DType.Size(); err == nil && (len(t.Bytes) != size || t.DType == tensor.String && len(t.Strings) != t.Len()) {
		err = fmt.Errorf("%v tensor of shape %v holds %d bytes and %d strings: expected as many as its shape says", t.DType, t.Shape, len(t.Bytes), len(t.Strings))
	}
	if err != nil {
		c.Core().Failf("Const: %w", err)
		return nil
	}
	return apply(c, spec{op: "Const", outs: []kind{{dt, append([]int{}, t.Shape...)}},
		attrs: graph.Attrs{"dtype": t.DType, "value": t}})
}

// Scalar adds a scalar constant of the given type, converted from v.
func Scalar(c models.Context, d tensor.DType, v float64) *G.Node {
	t := scalarOf(d, v)
	if t == nil {
		c.Core().Failf("Const: no scalar of type %v: expected float32, float64, int32 or int64", d)
		return nil
	}
	return Constant(c, t)
}

// scalarOf returns a scalar of the given type, nil if the type has none.
func scalarOf(d tensor.DType, v float64) *tensor.Tensor {
	switch d {
	case tensor.Float32:
		return tensor.Scalar(float32(v))
	case tensor.Float64:
		return tensor.Scalar(v)
	case tensor.Int32:
		return tensor.Scalar(int32(v))
	case tensor.Int64:
		return tensor.Scalar(int64(v))
	}
	return nil
}

// scalarLike returns a scalar of x's type.
func scalarLike(c models.Context, x *G.Node, v float64) *G.Node {
	if x == nil {
		return nil
	}
	return Scalar(c, models.GraphType(x.Dtype()), v)
}

// OnesLike returns ones of x's type and shape.
func OnesLike(c models.Context, x *G.Node) *G.Node { return likeFilled(c, "OnesLike", x) }

// ZerosLike returns zeros of x's type and shape.
func ZerosLike(c models.Context, x *G.Node) *G.Node { return likeFilled(c, "ZerosLike", x) }

func likeFilled(c models.Context, op string, x *G.Node) *G.Node {
	if !ready(c, op, x) {
		return nil
	}
	return apply(c, spec{op: op, attrs: typeAttr(x.Dtype()), outs: []kind{kindOf(x)}}, x)
}
