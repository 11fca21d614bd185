package lower

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// updateRule describes the kernels for an optimizer's op.
type updateRule struct {
	rule    kernels.Rule
	scalars []int // for each of the op's scalars, the place among the kernel's; nil for the same order
	slots   []int // likewise for the slots
}

var (
	ftrlScalars  = []int{0, 1, 2, 4}
	centredSlots = []int{2, 0, 1} // mg, ms, mom
)

// updates are TensorFlow's optimizer rules, dense and sparse.
var updates = map[*ops.Def]updateRule{
	ops.ResourceApplyGradientDescent:       {kernels.SGD, nil, nil},
	ops.ResourceApplyMomentum:              {kernels.Momentum, nil, nil},
	ops.ResourceApplyKerasMomentum:         {kernels.KerasMomentum, nil, nil},
	ops.ResourceApplyAdam:                  {kernels.Adam, nil, nil},
	ops.ResourceApplyAdagrad:               {kernels.Adagrad, nil, nil},
	ops.ResourceApplyAdagradV2:             {kernels.Adagrad, nil, nil},
	ops.ResourceApplyRMSProp:               {kernels.RMSProp, nil, nil},
	ops.ResourceApplyCenteredRMSProp:       {kernels.RMSProp, nil, centredSlots},
	ops.ResourceApplyFtrl:                  {kernels.Ftrl, ftrlScalars, nil},
	ops.ResourceApplyFtrlV2:                {kernels.Ftrl, nil, nil},
	ops.ResourceSparseApplyAdagrad:         {kernels.Adagrad, nil, nil},
	ops.ResourceSparseApplyAdagradV2:       {kernels.Adagrad, nil, nil},
	ops.ResourceSparseApplyMomentum:        {kernels.Momentum, nil, nil},
	ops.ResourceSparseApplyKerasMomentum:   {kernels.KerasMomentum, nil, nil},
	ops.ResourceSparseApplyRMSProp:         {kernels.RMSProp, nil, nil},
	ops.ResourceSparseApplyCenteredRMSProp: {kernels.RMSProp, nil, centredSlots},
	ops.ResourceSparseApplyFtrlV2:          {kernels.Ftrl, nil, nil},
	ops.ResourceSparseApplyFtrl:            {kernels.Ftrl, ftrlScalars, nil},
}

// updateOps are the rules, and assignments.
var updateOps = updateTable()

func updateTable() map[*ops.Def]lowering {
	all := map[*ops.Def]lowering{ops.Guard: lowerGuard, ops.AssignVariableOp: assignment(0), ops.AssignAddVariableOp: assignment(1), ops.AssignSubVariableOp: assignment(-1)}
	for op := range updates {
		if u, _ := op.Update(); u.Indices >= 0 {
			all[op] = lowerSparseUpdate
		} else {
			all[op] = lowerUpdate
		}
	}
	return all
}

// checkUpdate fails unless the kernels of an op's rule take its operands. It does not check the gradient and indices.
func checkUpdate(o *engine.Operation) (ops.Update, error) {
	op := ops.Find(o.Node.Op)
	u, _ := op.Update()
	if _, ok := updates[op]; !ok || len(o.In) != u.Inputs {
		return u, fmt.Errorf("expected %d inputs, got %d", u.Inputs, len(o.In))
	}
	if v, ok := o.Node.Attrs["update_slots"].(bool); ok && !v {
		return u, fmt.Errorf("update_slots=false is not supported")
	}
	if o.Node.Bool("multiply_linear_by_lr") {
		return u, fmt.Errorf("multiply_linear_by_lr=true is not supported")
	}
	for i, in := range o.In[:u.Variables] {
		if !in.Variable || in.Type.DType != tensor.Float32 || !in.Type.Shape.Equal(o.In[0].Type.Shape) {
			return u, fmt.Errorf("input %d: expected a variable float32 %v, got %v %v", i, o.In[0].Type.Shape, in.Type.DType, in.Type.Shape)
		}
	}
	for _, i := range u.Scalars {
		if in := o.In[i]; in.Type.DType != tensor.Float32 || in.Type.Shape.Rank() != 0 {
			return u, fmt.Errorf("input %d: expected a scalar float32, got %v %v", i, in.Type.DType, in.Type.Shape)
		}
	}
	return u, nil
}

// updateOf returns the update of an operation that checkUpdate has passed, with the operands' current addresses.
func updateOf(t *Target, o *engine.Operation) kernels.Update {
	op := ops.Find(o.Node.Op)
	r := updates[op]
	of, _ := op.Update()
	u := kernels.Update{Rule: r.rule, Var: Address(o.In[0]), Fault: t.guard(o), Flag: o.Node.Bool("use_nesterov")}
	arrange(u.Slots[:], r.slots, o.In[1:of.Variables])
	var scalars []*engine.Operand
	for _, i := range of.Scalars {
		scalars = append(scalars, o.In[i])
	}
	arrange(u.Scalars[:], r.scalars, scalars)
	return u
}

// arrange puts the addresses of operands into the places that order says.
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
	u, err := checkUpdate(o)
	if err != nil {
		return nil, err
	}
	g := o.In[u.Gradient]
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

// updating is a Launch of one update, which Join can merge with others.
type updating struct {
	l *kernels.Library
	d kernels.Dense
}

// Issue implements Launch.
func (u updating) Issue(s driver.Stream) error {
	return u.l.Launch(s, u.d.Update.Dense(u.d.Gradient, u.d.N))
}

// Join merges consecutive updates into fewer launches.
func Join(launches []Launch) (merged []Launch) {
	for i := 0; i < len(launches); {
		first, ok := launches[i].(updating)
		if !ok {
			merged = append(merged, launches[i])
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
		merged = append(merged, Launches(first.l, kernels.Calls(all)...)...)
	}
	return merged
}

// guard returns the address that decides whether an update is made: 0 there means yes, as in a fault record.
func (t *Target) guard(o *engine.Operation) driver.Ptr {
	if o.Guard != nil {
		return Address(o.Guard)
	}
	return t.Fault
}

// lowerGuard takes a bool. Its result prevents updates if the bool is false, or after a fault.
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
