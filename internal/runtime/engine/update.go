package engine

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// updateOps are TensorFlow's optimizer rules. The variables come first among the inputs, the gradient and the scalars
// in the order of the op's definition. The ResourceSparseApply ops sum rows of equal index before the rule, as
// TensorFlow's optimizers do before they call the op.
var updateOps = map[string]opDef{
	"ResourceApplyGradientDescent":       update(rule[float32]{1, "sg", applySGD[float32]}, rule[float64]{1, "sg", applySGD[float64]}),
	"ResourceApplyMomentum":              update(rule[float32]{2, "sgs", applyMomentum[float32]}, rule[float64]{2, "sgs", applyMomentum[float64]}),
	"ResourceApplyKerasMomentum":         update(rule[float32]{2, "sgs", applyKerasMomentum[float32]}, rule[float64]{2, "sgs", applyKerasMomentum[float64]}),
	"ResourceApplyAdam":                  update(rule[float32]{3, "ssssssg", applyAdam[float32]}, rule[float64]{3, "ssssssg", applyAdam[float64]}),
	"ResourceApplyAdagrad":               update(rule[float32]{2, "sg", applyAdagrad[float32]}, rule[float64]{2, "sg", applyAdagrad[float64]}),
	"ResourceApplyAdagradV2":             update(rule[float32]{2, "ssg", applyAdagrad[float32]}, rule[float64]{2, "ssg", applyAdagrad[float64]}),
	"ResourceApplyRMSProp":               update(rule[float32]{3, "ssssg", applyRMSProp[float32]}, rule[float64]{3, "ssssg", applyRMSProp[float64]}),
	"ResourceApplyCenteredRMSProp":       update(rule[float32]{4, "ssssg", applyCenteredRMSProp[float32]}, rule[float64]{4, "ssssg", applyCenteredRMSProp[float64]}),
	"ResourceApplyFtrl":                  update(rule[float32]{3, "gssss", applyFtrl[float32]}, rule[float64]{3, "gssss", applyFtrl[float64]}),
	"ResourceApplyFtrlV2":                update(rule[float32]{3, "gsssss", applyFtrl[float32]}, rule[float64]{3, "gsssss", applyFtrl[float64]}),
	"ResourceSparseApplyAdagrad":         update(rule[float32]{2, "sgi", applyAdagrad[float32]}, rule[float64]{2, "sgi", applyAdagrad[float64]}),
	"ResourceSparseApplyAdagradV2":       update(rule[float32]{2, "ssgi", applyAdagrad[float32]}, rule[float64]{2, "ssgi", applyAdagrad[float64]}),
	"ResourceSparseApplyMomentum":        update(rule[float32]{2, "sgis", applyMomentum[float32]}, rule[float64]{2, "sgis", applyMomentum[float64]}),
	"ResourceSparseApplyKerasMomentum":   update(rule[float32]{2, "sgis", applyKerasMomentum[float32]}, rule[float64]{2, "sgis", applyKerasMomentum[float64]}),
	"ResourceSparseApplyRMSProp":         update(rule[float32]{3, "ssssgi", applyRMSProp[float32]}, rule[float64]{3, "ssssgi", applyRMSProp[float64]}),
	"ResourceSparseApplyCenteredRMSProp": update(rule[float32]{4, "ssssgi", applyCenteredRMSProp[float32]}, rule[float64]{4, "ssssgi", applyCenteredRMSProp[float64]}),
	"ResourceSparseApplyFtrlV2":          update(rule[float32]{3, "gisssss", applyFtrl[float32]}, rule[float64]{3, "gisssss", applyFtrl[float64]}),
	"ResourceSparseApplyFtrl":            update(rule[float32]{3, "gissss", applyFtrl[float32]}, rule[float64]{3, "gissss", applyFtrl[float64]}),
}

// rule is an optimizer's update: how many variables (the trained one, then slots), what the other inputs are
// (s: a scalar, g: the gradient, i: indices), and the update of equally long parts of them.
type rule[T kernels.Float] struct {
	variables int
	inputs    string
	apply     func(p *part[T])
}

// part is what a rule works on: all of the variables, or one row of each.
type part[T kernels.Float] struct {
	w        [4][]T // the variable, then its slots
	g        []T
	s        [6]T // the scalar inputs in order
	nesterov bool
	count    int // scalars
}

func update(f32 rule[float32], f64 rule[float64]) opDef {
	sparse := false
	for _, k := range f32.inputs {
		sparse = sparse || k == 'i'
	}
	return opDef{writes: true, strict: sparse, compile: byElement(compileUpdate(f32), compileUpdate(f64), nil, nil)}
}

// bound is a rule with its inputs found.
type bound[T kernels.Float] struct {
	rule[T]
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

// bindRule checks the inputs against the rule.
func bindRule[T kernels.Float](c *binding, r rule[T]) (*bound[T], error) {
	if len(c.in) != r.variables+len(r.inputs) || len(c.op.write) != r.variables {
		return nil, fmt.Errorf("expected %d inputs with %d variables first, got %d with %d", r.variables+len(r.inputs), r.variables, len(c.in), len(c.op.write))
	}
	b := &bound[T]{rule: r, vars: c.op.write}
	for _, s := range b.vars[1:] {
		if v := b.vars[0]; s.dtype != v.dtype || !graph.ShapeOf(s.shape...).Equal(graph.ShapeOf(v.shape...)) {
			return nil, fmt.Errorf("expected slots of %v %v as the variable, got %v %v", v.dtype, v.shape, s.dtype, s.shape)
		}
	}
	ids, grad := -1, -1
	for i, kind := range r.inputs {
		at := r.variables + i
		switch kind {
		case 'g':
			grad = at
		case 'i':
			ids = at
		default:
			if t := c.in[at].typ; t.DType != b.vars[0].dtype || len(t.Shape.Dims) != 0 {
				return nil, fmt.Errorf("input %d: expected a scalar of type %v, got %v %v", at, b.vars[0].dtype, t.DType, t.Shape)
			}
			b.scalars = append(b.scalars, c.in[at])
		}
	}
	var err error
	if ids >= 0 {
		b.rows, err = c.rowUpdate(b.vars[0], ids, grad)
		b.grad = c.in[grad]
	} else {
		b.grad, err = c.operand(grad, b.vars[0])
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
