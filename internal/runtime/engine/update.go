package engine

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// updateOps are TensorFlow's optimizer rules. The variables come first among the inputs, the gradient and the scalars
// in the order of the op's definition. The ResourceSparseApply ops sum rows of equal index before the rule, as
// TensorFlow's optimizers do before they call the op.
var updateOps = map[*ops.Def]opDef{
	ops.ResourceApplyGradientDescent:       update(applySGD[float32], applySGD[float64]),
	ops.ResourceApplyMomentum:              update(applyMomentum[float32], applyMomentum[float64]),
	ops.ResourceApplyKerasMomentum:         update(applyKerasMomentum[float32], applyKerasMomentum[float64]),
	ops.ResourceApplyAdam:                  update(applyAdam[float32], applyAdam[float64]),
	ops.ResourceApplyAdagrad:               update(applyAdagrad[float32], applyAdagrad[float64]),
	ops.ResourceApplyAdagradV2:             update(applyAdagrad[float32], applyAdagrad[float64]),
	ops.ResourceApplyRMSProp:               update(applyRMSProp[float32], applyRMSProp[float64]),
	ops.ResourceApplyCenteredRMSProp:       update(applyCenteredRMSProp[float32], applyCenteredRMSProp[float64]),
	ops.ResourceApplyFtrl:                  update(applyFtrl[float32], applyFtrl[float64]),
	ops.ResourceApplyFtrlV2:                update(applyFtrl[float32], applyFtrl[float64]),
	ops.ResourceSparseApplyAdagrad:         update(applyAdagrad[float32], applyAdagrad[float64]),
	ops.ResourceSparseApplyAdagradV2:       update(applyAdagrad[float32], applyAdagrad[float64]),
	ops.ResourceSparseApplyMomentum:        update(applyMomentum[float32], applyMomentum[float64]),
	ops.ResourceSparseApplyKerasMomentum:   update(applyKerasMomentum[float32], applyKerasMomentum[float64]),
	ops.ResourceSparseApplyRMSProp:         update(applyRMSProp[float32], applyRMSProp[float64]),
	ops.ResourceSparseApplyCenteredRMSProp: update(applyCenteredRMSProp[float32], applyCenteredRMSProp[float64]),
	ops.ResourceSparseApplyFtrlV2:          update(applyFtrl[float32], applyFtrl[float64]),
	ops.ResourceSparseApplyFtrl:            update(applyFtrl[float32], applyFtrl[float64]),
}

// rule is an optimizer's update of equally long parts of its variables.
type rule[T kernels.Float] func(p *part[T])

// part is what a rule works on: all of the variables, or one row of each.
type part[T kernels.Float] struct {
	w        [4][]T // the variable, then its slots
	g        []T
	s        [6]T // the scalar inputs in order
	nesterov bool
	count    int // scalars
}

func update(f32 rule[float32], f64 rule[float64]) opDef {
	return opDef{compile: byElement(compileUpdate(f32), compileUpdate(f64), nil, nil)}
}

// bound is a rule with its inputs found.
type bound[T kernels.Float] struct {
	apply   rule[T]
	vars    []*variable
	scalars []*value
	grad    *value
	rows    *rowUpdate
	part    part[T]
}

func compileUpdate[T kernels.Float](r rule[T]) compileFunc {
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
		b.part.nesterov, b.part.count = c.node.Bool("use_nesterov"), len(b.scalars)
		if b.rows != nil {
			return sparseUpdate(c, b), nil
		}
		return func() error {
			b.load()
			for i, v := range b.vars {
				b.part.w[i] = elements[T](v)
			}
			b.part.g = view[T](b.grad)
			b.apply(&b.part)
			return nil
		}, nil
	}
}

// bindRule checks the inputs against the op's definition.
func bindRule[T kernels.Float](c *binding, r rule[T]) (*bound[T], error) {
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
		b.part.s[i] = view[T](s)[0]
	}
}

func applySGD[T kernels.Float](p *part[T]) { kernels.SGD(p.w[0], p.g, p.s[0]) }

func applyMomentum[T kernels.Float](p *part[T]) {
	kernels.Momentum(p.w[0], p.w[1], p.g, p.s[0], p.s[1], p.nesterov)
}

func applyKerasMomentum[T kernels.Float](p *part[T]) {
	kernels.KerasMomentum(p.w[0], p.w[1], p.g, p.s[0], p.s[1], p.nesterov)
}

// applyAdam takes beta1_power, beta2_power, lr, beta1, beta2, epsilon.
func applyAdam[T kernels.Float](p *part[T]) {
	lr := p.s[2] * T(math.Sqrt(float64(1-p.s[1]))) / (1 - p.s[0])
	kernels.Adam(p.w[0], p.w[1], p.w[2], p.g, kernels.AdamParams[T]{LR: lr, Beta1: p.s[3], Beta2: p.s[4], Epsilon: p.s[5], Nesterov: p.nesterov})
}

// applyAdagrad takes lr and, in V2, epsilon.
func applyAdagrad[T kernels.Float](p *part[T]) {
	kernels.AdagradV2(p.w[0], p.w[1], p.g, p.s[0], p.s[1])
}

// applyRMSProp takes lr, rho, momentum, epsilon.
func applyRMSProp[T kernels.Float](p *part[T]) {
	kernels.RMSProp(p.w[0], p.w[1], p.w[2], nil, p.g, kernels.RMSPropParams[T]{LR: p.s[0], Rho: p.s[1], Momentum: p.s[2], Epsilon: p.s[3]})
}

// applyCenteredRMSProp has the slots mg, ms, mom.
func applyCenteredRMSProp[T kernels.Float](p *part[T]) {
	kernels.RMSProp(p.w[0], p.w[2], p.w[3], p.w[1], p.g, kernels.RMSPropParams[T]{LR: p.s[0], Rho: p.s[1], Momentum: p.s[2], Epsilon: p.s[3]})
}

// applyFtrl takes lr, l1, l2, l2_shrinkage in V2, lr_power.
func applyFtrl[T kernels.Float](p *part[T]) {
	f := kernels.FtrlParams[T]{LR: p.s[0], L1: p.s[1], L2: p.s[2], LRPower: p.s[3]}
	if p.count == 5 {
		f.L2Shrinkage, f.LRPower = p.s[3], p.s[4]
	}
	kernels.Ftrl(p.w[0], p.w[1], p.w[2], p.g, f)
}
