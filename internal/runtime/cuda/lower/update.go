package lower

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// updateRule is an optimizer op: its rule, how many variables come first among the inputs, and what the other inputs are
// (s: a scalar, g: the gradient, i: indices).
type updateRule struct {
	rule      kernels.Rule
	variables int
	inputs    string
	scalars   []int // the place among the kernel's scalars of each of the op's, nil for their order
	slots     []int // likewise of the slots
}

// updates are TensorFlow's optimizer rules, dense and sparse.
var updates = map[string]updateRule{
	"ResourceApplyGradientDescent":       {kernels.SGD, 1, "sg", nil, nil},
	"ResourceApplyMomentum":              {kernels.Momentum, 2, "sgs", nil, nil},
	"ResourceApplyKerasMomentum":         {kernels.KerasMomentum, 2, "sgs", nil, nil},
	"ResourceApplyAdam":                  {kernels.Adam, 3, "ssssssg", nil, nil},
	"ResourceApplyAdagrad":               {kernels.Adagrad, 2, "sg", nil, nil},
	"ResourceApplyAdagradV2":             {kernels.Adagrad, 2, "ssg", nil, nil},
	"ResourceApplyRMSProp":               {kernels.RMSProp, 3, "ssssg", nil, nil},
	"ResourceApplyCenteredRMSProp":       {kernels.RMSProp, 4, "ssssg", nil, []int{2, 0, 1}}, // mg, ms, mom
	"ResourceApplyFtrl":                  {kernels.Ftrl, 3, "gssss", []int{0, 1, 2, 4}, nil},
	"ResourceApplyFtrlV2":                {kernels.Ftrl, 3, "gsssss", nil, nil},
	"ResourceSparseApplyAdagrad":         {kernels.Adagrad, 2, "sgi", nil, nil},
	"ResourceSparseApplyAdagradV2":       {kernels.Adagrad, 2, "ssgi", nil, nil},
	"ResourceSparseApplyMomentum":        {kernels.Momentum, 2, "sgis", nil, nil},
	"ResourceSparseApplyKerasMomentum":   {kernels.KerasMomentum, 2, "sgis", nil, nil},
	"ResourceSparseApplyRMSProp":         {kernels.RMSProp, 3, "ssssgi", nil, nil},
	"ResourceSparseApplyCenteredRMSProp": {kernels.RMSProp, 4, "ssssgi", nil, []int{2, 0, 1}},
	"ResourceSparseApplyFtrlV2":          {kernels.Ftrl, 3, "gisssss", nil, nil},
	"ResourceSparseApplyFtrl":            {kernels.Ftrl, 3, "gissss", []int{0, 1, 2, 4}, nil},
}

// updateOps are those of whole variables, and assignments.
var updateOps = map[string]lowering{
	"ResourceApplyGradientDescent": lowerUpdate, "ResourceApplyMomentum": lowerUpdate, "ResourceApplyKerasMomentum": lowerUpdate,
	"ResourceApplyAdam": lowerUpdate, "ResourceApplyAdagrad": lowerUpdate, "ResourceApplyAdagradV2": lowerUpdate,
	"ResourceApplyRMSProp": lowerUpdate, "ResourceApplyCenteredRMSProp": lowerUpdate, "ResourceApplyFtrl": lowerUpdate, "ResourceApplyFtrlV2": lowerUpdate,
	"_Guard":           lowerGuard,
	"AssignVariableOp": assignment(0), "AssignAddVariableOp": assignment(1), "AssignSubVariableOp": assignment(-1),
}

// at returns which input of the op is the gradient ('g') or the indices ('i').
func (r updateRule) at(kind rune) int {
	for i, k := range r.inputs {
		if k == kind {
			return r.variables + i
		}
	}
	return -1
}

// checkUpdate fails where the kernels of an op's rule do not take its operands, but for its gradient and indices.
func checkUpdate(o *engine.Operation) (updateRule, error) {
	r, ok := updates[o.Node.Op]
	if !ok || len(o.In) != r.variables+len(r.inputs) {
		return r, fmt.Errorf("expected %d inputs, got %d", r.variables+len(r.inputs), len(o.In))
	}
	if v, ok := o.Node.Attrs["update_slots"].(bool); ok && !v {
		return r, fmt.Errorf("update_slots=false is not supported")
	}
	if o.Node.Bool("multiply_linear_by_lr") {
		return r, fmt.Errorf("multiply_linear_by_lr=true is not supported")
	}
	for i, in := range o.In[:r.variables] {
		if !in.Variable || in.Type.DType != tensor.Float32 || !in.Type.Shape.Equal(o.In[0].Type.Shape) {
			return r, fmt.Errorf("input %d: expected a variable float32 %v, got %v %v", i, o.In[0].Type.Shape, in.Type.DType, in.Type.Shape)
		}
	}
	for i, k := range r.inputs {
		if in := o.In[r.variables+i]; k == 's' && (in.Type.DType != tensor.Float32 || in.Type.Shape.Rank() != 0) {
			return r, fmt.Errorf("input %d: expected a scalar float32, got %v %v", r.variables+i, in.Type.DType, in.Type.Shape)
		}
	}
	return r, nil
}

// updateOf is the update of an operation that checkUpdate has passed, with the operands' present places.
func updateOf(t *Target, o *engine.Operation) kernels.Update {
	r := updates[o.Node.Op]
	u := kernels.Update{Rule: r.rule, Var: Address(o.In[0]), Fault: t.guard(o), Flag: o.Node.Bool("use_nesterov")}
	arrange(u.Slots[:], r.slots, o.In[1:r.variables])
	var scalars []*engine.Operand
	for i, k := range r.inputs {
		if k == 's' {
			scalars = append(scalars, o.In[r.variables+i])
		}
	}
	arrange(u.Scalars[:], r.scalars, scalars)
	return u
}

// arrange puts the addresses of operands where order says.
func arrange(to []driver.Ptr, order []int, from []*engine.Operand) {
	for i, v := range from {
		at := i
		if order != nil {
			at = order[i]
		}
		to[at] = Address(v)
	}
}

func lowerUpdate(t *Target, o *engine.Operation) (Step, error) {
	r, err := checkUpdate(o)
	if err != nil {
		return nil, err
	}
	g := o.In[r.at('g')]
	if g.Type.DType != tensor.Float32 || !g.Type.Shape.Equal(o.In[0].Type.Shape) {
		return nil, fmt.Errorf("expected a gradient float32 %v as the variable has, got %v %v", o.In[0].Type.Shape, g.Type.DType, g.Type.Shape)
	}
	return fixed(func() []Launch {
		if g.N == 0 {
			return nil
		}
		return []Launch{updating{t.Kernels, kernels.Dense{Update: updateOf(t, o), Gradient: Address(g), N: g.N}}}
	}), nil
}

// updating is a Launch of one update, which Join can do together with others.
type updating struct {
	l *kernels.Library
	d kernels.Dense
}

// Issue implements Launch.
func (u updating) Issue(s driver.Stream) error {
	return u.l.Launch(s, u.d.Update.Dense(u.d.Gradient, u.d.N))
}

// Join makes fewer launches of those that follow each other.
func Join(launches []Launch) (joined []Launch) {
	for i := 0; i < len(launches); {
		first, ok := launches[i].(updating)
		if !ok {
			joined = append(joined, launches[i])
			i++
			continue
		}
		var all []kernels.Dense
		for ; i < len(launches); i++ {
			u, ok := launches[i].(updating)
			if !ok {
				break
			}
			all = append(all, u.d)
		}
		joined = append(joined, Launches(first.l, kernels.Calls(all)...)...)
	}
	return joined
}

// guard is where an update looks whether it is to be made: like a fault record, it has 0 first then.
func (t *Target) guard(o *engine.Operation) driver.Ptr {
	if o.Guard != nil {
		return Address(o.Guard)
	}
	return t.Fault
}

// lowerGuard takes a bool; what it gives keeps updates from happening where that is false, or after a fault.
func lowerGuard(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 1, 1); err != nil {
		return nil, err
	}
	if err := errors.Join(typed(tensor.Bool, o.In[0]), typed(tensor.Int64, o.Out[0])); err != nil {
		return nil, err
	}
	s := &step{t: t, o: o}
	s.calls = func() ([]kernels.Call, error) {
		return []kernels.Call{kernels.Guard(s.out(0), s.in(0), t.Fault)}, nil
	}
	return s, nil
}

// assignment sets a variable, or adds to it (by 1), or subtracts from it (by -1).
func assignment(by int) lowering {
	return func(t *Target, o *engine.Operation) (Step, error) {
		if err := need(o, 2, 0); err != nil {
			return nil, err
		}
		v, x := o.In[0], o.In[1]
		if !v.Variable || x.Type.DType != v.Type.DType || !x.Type.Shape.Equal(v.Type.Shape) {
			return nil, fmt.Errorf("expected a value %v %v as the variable has, got %v %v", v.Type.DType, v.Type.Shape, x.Type.DType, x.Type.Shape)
		}
		if v.Type.DType.Size() == 0 || by != 0 && !kernels.CanAdd(v.Type.DType) {
			return nil, fmt.Errorf("variables of type %v are not supported", v.Type.DType)
		}
		s := &step{t: t, o: o}
		s.calls = func() ([]kernels.Call, error) {
			if x.N == 0 {
				return nil, nil
			}
			return []kernels.Call{kernels.Assignment{Type: v.Type.DType, Var: s.in(0), X: s.in(1), Fault: t.guard(o), N: x.N, By: by}.Call()}, nil
		}
		return s, nil
	}
}
