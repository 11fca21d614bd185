package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// softmaxOps work along the last dimension.
var softmaxOps = map[*ops.Def]opDef{
	ops.Softmax:                             {inplace: []int{0}, compile: floats(compileSoftmax(kernels.Softmax[float32]), compileSoftmax(kernels.Softmax[float64]))},
	ops.LogSoftmax:                          {inplace: []int{0}, compile: floats(compileSoftmax(kernels.LogSoftmax[float32]), compileSoftmax(kernels.LogSoftmax[float64]))},
	ops.SoftmaxCrossEntropyWithLogits:       {compile: floats(compileXent[float32], compileXent[float64])},
	ops.SparseSoftmaxCrossEntropyWithLogits: {inplace: []int{0}, into: 1, compile: floats(compileSparseXent[float32], compileSparseXent[float64])},
}

func compileSoftmax[T kernels.Float](f func(dst, x []T, rows, cols int)) compileFunc {
	return func(c *binding) (runFunc, error) {
		in, out, err := sameAs[T, T](c, 1)
		if err == nil && len(out.dims) == 0 {
			err = fmt.Errorf("expected at least one dimension")
		}
		return func() error {
			rows, cols := rowsCols(out)
			f(view[T](out), view[T](in[0]), rows, cols)
			return nil
		}, err
	}
}

// xent checks the types of a cross-entropy: logits [n,c], loss [n], backprop [n,c].
func xent[T kernels.Float](c *binding) (logits, labels, loss, backprop *value, err error) {
	if err := c.need(2, 2); err != nil {
		return nil, nil, nil, nil, err
	}
	logits, labels, loss, backprop = c.in[0], c.in[1], c.out[0], c.out[1]
	s := logits.typ.Shape
	if len(s.Dims) != 2 || !backprop.typ.Shape.Equal(s) || !loss.typ.Shape.Equal(graph.Shape{Dims: s.Dims[:1]}) {
		return nil, nil, nil, nil, fmt.Errorf("expected logits [n,classes], loss [n] and backprop [n,classes], got %v, %v and %v", s, loss.typ.Shape, backprop.typ.Shape)
	}
	return logits, labels, loss, backprop, checkTypes[T](logits, loss, backprop)
}

func compileXent[T kernels.Float](c *binding) (runFunc, error) {
	logits, labels, loss, backprop, err := xent[T](c)
	if err == nil && (!labels.typ.Shape.Equal(logits.typ.Shape) || labels.typ.DType != logits.typ.DType) {
		err = fmt.Errorf("expected labels %v %v, got %v %v", logits.typ.DType, logits.typ.Shape, labels.typ.DType, labels.typ.Shape)
	}
	return func() error {
		rows, cols := rowsCols(logits)
		kernels.SoftmaxXent(view[T](loss), view[T](backprop), view[T](logits), view[T](labels), rows, cols)
		return nil
	}, err
}

func compileSparseXent[T kernels.Float](c *binding) (runFunc, error) {
	logits, labels, loss, backprop, err := xent[T](c)
	if err != nil {
		return nil, err
	}
	if !labels.typ.Shape.Equal(loss.typ.Shape) {
		return nil, fmt.Errorf("expected labels of shape %v, got %v", loss.typ.Shape, labels.typ.Shape)
	}
	switch labels.typ.DType {
	case tensor.Int32:
		return sparseXent[T, int32](logits, labels, loss, backprop), nil
	case tensor.Int64:
		return sparseXent[T, int64](logits, labels, loss, backprop), nil
	}
	return nil, fmt.Errorf("expected int32 or int64 labels, got %v", labels.typ.DType)
}

func sparseXent[T kernels.Float, L int32 | int64](logits, labels, loss, backprop *value) runFunc {
	return func() error {
		rows, cols := rowsCols(logits)
		return kernels.SparseSoftmaxXent(view[T](loss), view[T](backprop), view[T](logits), view[L](labels), rows, cols)
	}
}
