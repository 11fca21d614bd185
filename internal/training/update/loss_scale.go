package update

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// scaling is the state of a LossScale while an update is emitted.
type scaling struct {
	scale  graph.Output // at the start of the step
	good   graph.Output // float64, at the start of the step
	finite graph.Output // bool: whether all gradients are finite
}

// unscale divides the gradients by the scale. For a dynamic scale it also
// checks whether they are all finite: finite is then Valid.
func (em *emission) unscale(grads []lower.Value) ([]lower.Value, *scaling, error) {
	l := em.LossScale
	if err := l.Check(); err != nil {
		return nil, nil, fmt.Errorf("train op: loss_scale: %w", err)
	}
	if l.None() {
		return grads, &scaling{}, nil
	}
	if l.Dynamic() != (em.Scale != nil) {
		return nil, nil, errors.New("train op: expected the variables of a loss scale that changes, and of no other: Minimize makes them")
	}
	b, s := em.b, &scaling{}
	c := rule.Scalars{B: b, Scope: scaleScope}
	var inverse graph.Output
	if em.Scale == nil {
		inverse = c.Number(1 / l.Initial)
	} else {
		s.scale = read(b, em.Scale.Scale)
		s.good = b.Cast(scaleScope+"Cast", read(b, em.Scale.Good), tensor.Float64)
		inverse = c.Op("RealDiv", c.Number(1), b.Cast(scaleScope+"Cast", s.scale, tensor.Float64))
	}
	out := make([]lower.Value, len(grads))
	for i, g := range grads {
		out[i] = g.Map(func(x graph.Output) graph.Output {
			x = b.Op("Mul", scaleScope+"Mul", x.Type(), graph.Attrs{"T": x.DType()}, x, b.Cast(scaleScope+"Cast", inverse, x.DType()))
			if em.Scale != nil {
				s.finite = em.both(s.finite, em.allFinite(x))
			}
			return x
		})
	}
	return out, s, nil
}

const scaleScope = "loss_scale/"

var boolean = graph.Type{DType: tensor.Bool}

// allFinite reports whether all elements of x are finite.
func (em *emission) allFinite(x graph.Output) graph.Output {
	b := em.b
	each := b.Op("IsFinite", scaleScope+"IsFinite", graph.Type{DType: tensor.Bool, Shape: x.Shape()}, graph.Attrs{"T": x.DType()}, x)
	axes := make([]int32, x.Shape().Rank())
	for i := range axes {
		axes[i] = int32(i)
	}
	t, err := tensor.FromSlice(axes, len(axes))
	if err != nil {
		b.Fail(err)
		return graph.Output{}
	}
	return b.Op("All", scaleScope+"All", boolean, graph.Attrs{"Tidx": tensor.Int32, "keep_dims": false}, each, b.Const(scaleScope+"axes", t))
}

// wild marks a value that may be non-finite when gradients overflow, if the update is guarded.
func (em *emission) wild(x graph.Output) graph.Output {
	if guards(em.TrainOp) && x.Valid() {
		x.Node.Attrs[graph.MayOverflow] = true
	}
	return x
}

// both is x and y, or the Valid one of them.
func (em *emission) both(x, y graph.Output) graph.Output {
	if !x.Valid() {
		return y
	}
	if !y.Valid() {
		return x
	}
	return em.b.Op("LogicalAnd", scaleScope+"LogicalAnd", boolean, nil, x, y)
}

// rescaled returns the next values of the scale and of the count of finite updates.
func (em *emission) rescaled(s *scaling) []Next {
	if em.Scale == nil {
		return nil
	}
	b := em.b
	c := rule.Scalars{B: b, Scope: scaleScope}
	pick := func(cond, yes, no graph.Output) graph.Output {
		return rule.Choose(b, cond, scaleScope, rule.Scalar, yes, no)
	}
	scale := b.Cast(scaleScope+"Cast", s.scale, tensor.Float64)
	good, full := c.Op("AddV2", s.good, c.Number(1)), c.Number(float64(em.LossScale.GrowthSteps))
	double := c.Op("Mul", scale, c.Number(2))
	double = c.WhenLess(c.Number(math.MaxFloat32), double, scale, double)
	next := pick(s.finite, c.WhenLess(good, full, scale, double), c.Op("Maximum", c.Op("RealDiv", scale, c.Number(2)), c.Number(1)))
	count := pick(s.finite, c.WhenLess(good, full, good, c.Number(0)), c.Number(0))
	if em.due.Valid() {
		next, count = pick(em.due, next, scale), pick(em.due, count, s.good)
	}
	v := em.Scale
	return []Next{{v.Scale.Name, b.Cast(scaleScope+"Cast", next, v.Scale.DType)}, {v.Good.Name, b.Cast(scaleScope+"Cast", count, tensor.Int64)}}
}

// Next is the value of a variable after a step.
type Next struct {
	Variable string
	Value    graph.Output
}

// Unscaled are gradients without their scale, for a strategy that updates
// each variable separately, in another place.
type Unscaled struct {
	Train     *optimizers.TrainOp // the update to apply to them: without a scale
	Gradients []lower.Value       // in the order of the groups
	// Finite, a bool, says whether to apply them; not Valid: always.
	Finite graph.Output
	// State has the variables of a dynamic scale, to be assigned after each step.
	State []Next
}

// Unscale removes the loss scale, if there is one, from gradients and from the update.
func Unscale(t *optimizers.TrainOp, b *graph.Builder, grads []lower.Value) (Unscaled, error) {
	em := &emission{TrainOp: t, b: b}
	grads, s, err := em.unscale(grads)
	if err != nil {
		return Unscaled{}, err
	}
	plain := *t
	plain.LossScale, plain.Scale = optimizers.LossScale{}, nil
	return Unscaled{Train: &plain, Gradients: grads, Finite: s.finite, State: em.rescaled(s)}, b.Err()
}

// read reads a variable at the start of the step.
func read(b *graph.Builder, v *models.Variable) graph.Output {
	t := graph.TypeOf(v.DType, v.Shape...)
	return b.Read(b.Variable(v.Name, t), t)
}
