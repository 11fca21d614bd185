package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// epilogue is what a fused product or convolution does to its result, in this order: add a bias, normalize by fixed
// statistics, add another tensor, apply ReLU. Each part is optional.
type epilogue struct {
	bias *value
	norm *norm
	add  *value
	relu bool
}

// norm is batch normalization with given statistics.
type norm struct {
	scale, offset, mean, variance *value
	epsilon                       float64
}

// epilogueOf reads the attribute fused_ops and the inputs from the third on.
func epilogueOf[T kernels.Float](c *binding) (*epilogue, error) {
	fused, _ := c.node.Attrs["fused_ops"].([][]byte)
	t, at, rank := &epilogue{}, 2, 0
	for _, name := range fused {
		var err error
		switch p := epilogueOps[string(name)]; {
		case p.rank <= rank:
			return nil, fmt.Errorf("fused_ops %q: expected some of BiasAdd, FusedBatchNorm, Add, Relu, in this order", fused)
		case at+p.inputs > len(c.in):
			return nil, fmt.Errorf("fused_ops %q: expected more than %d inputs", fused, len(c.in))
		default:
			rank = p.rank
			err = addEpilogueOp[T](c, t, string(name), c.in[at:at+p.inputs])
			at += p.inputs
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// epilogueOps has the order of an epilogue's parts, and how many inputs each takes.
var epilogueOps = map[string]struct{ rank, inputs int }{"BiasAdd": {1, 1}, "FusedBatchNorm": {2, 4}, "Add": {3, 1}, "Relu": {4, 0}}

func addEpilogueOp[T kernels.Float](c *binding, t *epilogue, name string, in []*value) error {
	out := c.out[0]
	switch name {
	case "BiasAdd":
		t.bias = in[0]
	case "FusedBatchNorm":
		t.norm = &norm{in[0], in[1], in[2], in[3], float64(c.node.Float("epsilon", 1e-4))}
	case "Add":
		t.add = in[0]
		if !sameType(t.add.typ, out.typ) {
			return fmt.Errorf("expected to add %v %v, got %v %v", out.typ.DType, out.typ.Shape, t.add.typ.DType, t.add.typ.Shape)
		}
		return nil
	case "Relu":
		t.relu = true
	}
	for _, v := range in {
		if err := checkShape(name, v, out.typ.Shape.Dims[len(out.dims)-1:]); err != nil {
			return err
		}
	}
	return checkTypes[T](in...)
}

// addedAt are the inputs that may be an Add's operand.
var addedAt = []int{2, 3, 6, 7}

// plain fails if the epilogue needs steady weights.
func (t *epilogue) plain() error {
	if t.norm != nil || t.add != nil {
		return fmt.Errorf("fused_ops FusedBatchNorm and Add: expected weights and statistics that are constants or variables without updates")
	}
	return nil
}

// kernelEpilogue returns the kernels' form, without the normalization.
func kernelEpilogue[T kernels.Float](t *epilogue) kernels.Epilogue[T] {
	e := kernels.Epilogue[T]{Relu: t.relu}
	if t.bias != nil {
		e.Bias = view[T](t.bias)
	}
	if t.add != nil {
		e.Add = view[T](t.add)
	}
	return e
}
