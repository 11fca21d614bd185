package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// updateOps are TensorFlow's optimizer rules. The variables are the first inputs; the gradient and the scalars follow in
// the order of the op's definition. The ResourceSparseApply ops sum rows of equal index before the rule, as TensorFlow's
// optimizers do before they call the op.
var updateOps = map[*ops.Def]opDef{
	ops.ResourceApplyGradientDescent:       update(kernels.ApplySGD[float32], kernels.ApplySGD[float64]),
	ops.ResourceApplyMomentum:              update(kernels.ApplyMomentum[float32], kernels.ApplyMomentum[float64]),
	ops.ResourceApplyKerasMomentum:         update(kernels.ApplyKerasMomentum[float32], kernels.ApplyKerasMomentum[float64]),
	ops.ResourceApplyAdam:                  update(kernels.ApplyAdam[float32], kernels.ApplyAdam[float64]),
	ops.ResourceApplyAdagrad:               update(kernels.ApplyAdagrad[float32], kernels.ApplyAdagrad[float64]),
	ops.ResourceApplyAdagradV2:             update(kernels.ApplyAdagrad[float32], kernels.ApplyAdagrad[float64]),
	ops.ResourceApplyRMSProp:               update(kernels.ApplyRMSProp[float32], kernels.ApplyRMSProp[float64]),
	ops.ResourceApplyCenteredRMSProp:       update(kernels.ApplyCenteredRMSProp[float32], kernels.ApplyCenteredRMSProp[float64]),
	ops.ResourceApplyFtrl:                  update(kernels.ApplyFtrl[float32], kernels.ApplyFtrl[float64]),
	ops.ResourceApplyFtrlV2:                update(kernels.ApplyFtrl[float32], kernels.ApplyFtrl[float64]),
	ops.ResourceSparseApplyAdagrad:         update(kernels.ApplyAdagrad[float32], kernels.ApplyAdagrad[float64]),
	ops.ResourceSparseApplyAdagradV2:       update(kernels.ApplyAdagrad[float32], kernels.ApplyAdagrad[float64]),
	ops.ResourceSparseApplyMomentum:        update(kernels.ApplyMomentum[float32], kernels.ApplyMomentum[float64]),
	ops.ResourceSparseApplyKerasMomentum:   update(kernels.ApplyKerasMomentum[float32], kernels.ApplyKerasMomentum[float64]),
	ops.ResourceSparseApplyRMSProp:         update(kernels.ApplyRMSProp[float32], kernels.ApplyRMSProp[float64]),
	ops.ResourceSparseApplyCenteredRMSProp: update(kernels.ApplyCenteredRMSProp[float32], kernels.ApplyCenteredRMSProp[float64]),
	ops.ResourceSparseApplyFtrlV2:          update(kernels.ApplyFtrl[float32], kernels.ApplyFtrl[float64]),
	ops.ResourceSparseApplyFtrl:            update(kernels.ApplyFtrl[float32], kernels.ApplyFtrl[float64]),
}

func update(f32 kernels.Rule[float32], f64 kernels.Rule[float64]) opDef {
	return opDef{compile: byElement(compileUpdate(f32), compileUpdate(f64), nil, nil)}
}

// bound is a rule with its inputs found.
type bound[T kernels.Float] struct {
	apply   kernels.Rule[T]
	vars    []*variable
	scalars []*value
	grad    *value
	rows    *rowUpdate
	part    kernels.Part[T]
}

func compileUpdate[T kernels.Float](r kernels.Rule[T]) compileFunc {
	return func(c *binding) (runFunc, error) {
		b, err := bindRule(c, r)
		if err != nil {
			return nil, err
		}
		if v, ok := c.node.Attrs["update_slots"].(bool); ok && !v {
			return nil, fmt.Errorf("update_slots=false is not supported")
		}
		if v, ok := c.node.Attrs["multiply_linear_by_lr"].(bool); ok && v {
			return nil, fmt.Errorf("multiply_linear_by_lr=true is not supported")
		}
		b.part.Nesterov, b.part.Count = c.node.Bool("use_nesterov"), len(b.scalars)
		if b.rows != nil {
			return sparseUpdate(c, b), nil
		}
		return func() error {
			b.load()
			for i, v := range b.vars {
				b.part.W[i] = elements[T](v)
			}
			b.part.G = view[T](b.grad)
			b.apply(&b.part)
			return nil
		}, nil
	}
}

// bindRule checks the inputs against the op's definition.
func bindRule[T kernels.Float](c *binding, r kernels.Rule[T]) (*bound[T], error) {
	u, _ := ops.Find(c.node.Op).Update()
	if len(c.in) != u.Inputs || len(c.op.write) != u.Variables {
		return nil, fmt.Errorf("expected %d inputs with %d variables first, got %d with %d", u.Inputs, u.Variables, len(c.in), len(c.op.write))
	}
	b := &bound[T]{apply: r, vars: c.op.write}
	for _, s := range b.vars[1:] {
		if v := b.vars[0]; s.dtype != v.dtype || !graph.ShapeOf(s.shape...).Equal(graph.ShapeOf(v.shape...)) {
			return nil, fmt.Errorf("expected slots of %v %v as the variable, got %v %v", v.dtype, v.shape, s.dtype, s.shape)
		}
	}
	for _, at := range u.Scalars {
		if t := c.in[at].typ; t.DType != b.vars[0].dtype || len(t.Shape.Dims) != 0 {
			return nil, fmt.Errorf("input %d: expected a scalar of type %v, got %v %v", at, b.vars[0].dtype, t.DType, t.Shape)
		}
		b.scalars = append(b.scalars, c.in[at])
	}
	var err error
	if u.Indices >= 0 {
		b.rows, err = c.rowUpdate(b.vars[0], u.Indices, u.Gradient)
		b.grad = c.in[u.Gradient]
	} else {
		b.grad, err = c.operand(u.Gradient, b.vars[0])
	}
	return b, err
}

// load reads the scalars of this run.
func (b *bound[T]) load() {
	for i, s := range b.scalars {
		b.part.S[i] = view[T](s)[0]
	}
}
