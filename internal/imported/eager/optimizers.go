package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// optimizerOps are the rules that update variables and their slots by a gradient, in TensorFlow's arithmetic: on reference and resource
// variables, by a gradient of all elements or of some rows. Rows with the same index are applied one after the other.
var optimizerOps = optimizerTable()

func optimizerTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{}
	add := func(f32 kernels.Rule[float32], f64 kernels.Rule[float64], forms ...*ops.Def) {
		for _, op := range forms {
			all[op] = optimizer(op, f32, f64)
		}
	}
	add(kernels.ApplySGD[float32], kernels.ApplySGD[float64], ops.ApplyGradientDescent, ops.ResourceApplyGradientDescent)
	add(kernels.ApplyMomentum[float32], kernels.ApplyMomentum[float64],
		ops.ApplyMomentum, ops.SparseApplyMomentum, ops.ResourceApplyMomentum, ops.ResourceSparseApplyMomentum)
	add(kernels.ApplyKerasMomentum[float32], kernels.ApplyKerasMomentum[float64], ops.ResourceApplyKerasMomentum, ops.ResourceSparseApplyKerasMomentum)
	add(kernels.ApplyAdam[float32], kernels.ApplyAdam[float64], ops.ApplyAdam, ops.ResourceApplyAdam)
	add(kernels.ApplyAdagrad[float32], kernels.ApplyAdagrad[float64],
		ops.ApplyAdagrad, ops.SparseApplyAdagrad, ops.ResourceApplyAdagrad, ops.ResourceSparseApplyAdagrad,
		ops.ApplyAdagradV2, ops.SparseApplyAdagradV2, ops.ResourceApplyAdagradV2, ops.ResourceSparseApplyAdagradV2)
	add(kernels.ApplyRMSProp[float32], kernels.ApplyRMSProp[float64],
		ops.ApplyRMSProp, ops.SparseApplyRMSProp, ops.ResourceApplyRMSProp, ops.ResourceSparseApplyRMSProp)
	add(kernels.ApplyCenteredRMSProp[float32], kernels.ApplyCenteredRMSProp[float64],
		ops.ApplyCenteredRMSProp, ops.SparseApplyCenteredRMSProp, ops.ResourceApplyCenteredRMSProp, ops.ResourceSparseApplyCenteredRMSProp)
	add(kernels.ApplyFtrl[float32], kernels.ApplyFtrl[float64],
		ops.ApplyFtrl, ops.SparseApplyFtrl, ops.ResourceApplyFtrl, ops.ResourceSparseApplyFtrl,
		ops.ApplyFtrlV2, ops.SparseApplyFtrlV2, ops.ResourceApplyFtrlV2, ops.ResourceSparseApplyFtrlV2)
	add(kernels.ApplyAdadelta[float32], kernels.ApplyAdadelta[float64],
		ops.ApplyAdadelta, ops.SparseApplyAdadelta, ops.ResourceApplyAdadelta, ops.ResourceSparseApplyAdadelta)
	add(kernels.ApplyProximalGradientDescent[float32], kernels.ApplyProximalGradientDescent[float64],
		ops.ApplyProximalGradientDescent, ops.SparseApplyProximalGradientDescent, ops.ResourceApplyProximalGradientDescent, ops.ResourceSparseApplyProximalGradientDescent)
	add(kernels.ApplyProximalAdagrad[float32], kernels.ApplyProximalAdagrad[float64],
		ops.ApplyProximalAdagrad, ops.SparseApplyProximalAdagrad, ops.ResourceApplyProximalAdagrad, ops.ResourceSparseApplyProximalAdagrad)
	add(kernels.ApplyAdaMax[float32], kernels.ApplyAdaMax[float64], ops.ApplyAdaMax, ops.ResourceApplyAdaMax)
	add(kernels.ApplyAmsgrad[float32], kernels.ApplyAmsgrad[float64], ops.ResourceApplyAdamWithAmsgrad)
	add(kernels.ApplyAdagradDA[float32], kernels.ApplyAdagradDA[float64],
		ops.ApplyAdagradDA, ops.SparseApplyAdagradDA, ops.ResourceApplyAdagradDA, ops.ResourceSparseApplyAdagradDA)
	add(kernels.ApplyPowerSign[float32], kernels.ApplyPowerSign[float64], ops.ApplyPowerSign, ops.ResourceApplyPowerSign)
	add(kernels.ApplyAddSign[float32], kernels.ApplyAddSign[float64], ops.ApplyAddSign, ops.ResourceApplyAddSign)
	return all
}

// optimizer returns the kernel of a rule, whose arguments are in the order of the op's inputs.
func optimizer(op *ops.Def, f32 kernels.Rule[float32], f64 kernels.Rule[float64]) maker {
	return func(s *site) (kernel, error) {
		u, _ := op.Update()
		return floats(ruleKernel(s, u, f32), ruleKernel(s, u, f64)).on(u.Gradient), nil
	}
}

func ruleKernel[T kernels.Float](s *site, u ops.Update, rule kernels.Rule[T]) kernel {
	how := kernels.Part[T]{Count: len(u.Scalars), Nesterov: s.boolean("use_nesterov", false), Frozen: !s.boolean("update_slots", true),
		ByRate: s.boolean("multiply_linear_by_lr", false)}
	in := ops.Find(s.node.Op).Inputs()
	check := rowsThere
	if s.node.Op == ops.ResourceSparseApplyKerasMomentum.Name {
		check = rowsBelow
	}
	return func(c call) (err error) {
		p := how
		for i, at := range u.Scalars {
			if p.S[i], err = scalarOf[T](in[at], c.t(at)); err != nil {
				return fmt.Errorf("input %d: %w", at, err)
			}
		}
		c.forward()
		return c.edit(c.in[:u.Variables], func(values []*tensor.Tensor) error {
			for i, v := range values {
				if v.DType != tensor.TypeOf[T]() || !slices.Equal(v.Shape, values[0].Shape) {
					return fmt.Errorf("input %d: expected a variable of %v and shape %v, got %v of shape %v", i, tensor.TypeOf[T](), values[0].Shape, v.DType, v.Shape)
				}
				p.W[i] = tensor.Values[T](v)
			}
			p.G = tensor.Values[T](c.t(u.Gradient))
			if u.Indices >= 0 {
				v, indices := values[0], c.t(u.Indices)
				if err := updatesFit(v, indices, c.t(u.Gradient)); err != nil {
					return err
				}
				if err := check(indices, v.Shape[0]); err != nil {
					return err
				}
				applyRows(&p, rule, indices, product(v.Shape[1:]))
				return nil
			}
			if !slices.Equal(c.t(u.Gradient).Shape, values[0].Shape) {
				return fmt.Errorf("%w: var and grad do not have the same shape: %v and %v", errShapes, values[0].Shape, c.t(u.Gradient).Shape)
			}
			rule(&p)
			return nil
		})
	}
}

// scalarOf returns a scalar input of a rule. The step number is an integer.
func scalarOf[T kernels.Float](a ops.Arg, t *tensor.Tensor) (T, error) {
	want := tensor.TypeOf[T]()
	if a.TypeAttr == "" {
		want = a.Type
	}
	if t.DType != want || len(t.Shape) != 0 {
		return 0, fmt.Errorf("expected a scalar of type %v, got %v of shape %v", want, t.DType, t.Shape)
	}
	if want == tensor.Int64 {
		return T(tensor.Values[int64](t)[0]), nil
	}
	return tensor.Values[T](t)[0], nil
}

// updatesFit checks that indices is a vector with one row of updates for each index.
func updatesFit(v, indices, updates *tensor.Tensor) error {
	if len(v.Shape) == 0 {
		return fmt.Errorf("%w: expected a variable of at least one dimension", errShapes)
	}
	if err := rank("indices", indices, 1); err != nil {
		return err
	}
	if want := append([]int{indices.Len()}, v.Shape[1:]...); !slices.Equal(updates.Shape, want) {
		return fmt.Errorf("%w: expected updates of shape %v for %d indices into a variable of shape %v, got %v", errShapes, want, indices.Len(), v.Shape, updates.Shape)
	}
	return nil
}

// applyRows applies a rule to the rows that the indices name.
func applyRows[T kernels.Float](p *kernels.Part[T], rule kernels.Rule[T], indices *tensor.Tensor, width int) {
	if indices.DType == tensor.Int32 {
		kernels.UpdateRows(p, rule, tensor.Values[int32](indices), width)
	} else {
		kernels.UpdateRows(p, rule, tensor.Values[int64](indices), width)
	}
}
