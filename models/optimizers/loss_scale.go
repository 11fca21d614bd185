package optimizers

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// LossScale is a factor on the loss while it is differentiated, so that small
// gradients do not vanish on their way back through a type of few bits. The
// gradients are divided by it before transforms and rules. The zero value scales
// nothing. Loss scaling is that of tf.keras.mixed_precision.LossScaleOptimizer.
type LossScale struct {
	// Initial is the factor, or the first one where it changes: from 2^-126 to the largest
	// float32, so that its inverse is one too, and >= 1 where it changes.
	Initial float64
	// GrowthSteps > 0 lets the factor change: it doubles after so many updates in a
	// row whose gradients were finite. An update of which some gradient is not is
	// left out - variables and slots stay as they are, while the global step goes
	// on - and the factor halved, down to 1. 0: the factor is fixed, and no update left out.
	GrowthSteps int64
}

// DynamicLossScale begins with 2^15 and grows after 2000 updates, as Keras does.
func DynamicLossScale() LossScale { return LossScale{Initial: 1 << 15, GrowthSteps: 2000} }

// NewLossScale returns a loss scale given as in a config file: none, dynamic or
// a number > 0, as text too.
func NewLossScale(spec any) (LossScale, error) {
	switch spec {
	case "none":
		return LossScale{}, nil
	case "dynamic":
		return DynamicLossScale(), nil
	}
	v, err := strconv.ParseFloat(fmt.Sprint(spec), 64)
	if err != nil || v == 0 {
		return LossScale{}, fmt.Errorf("got %v: expected none, dynamic or a number", spec)
	}
	l := LossScale{Initial: v}
	return l, l.check()
}

// leastScale is the least float32 that is normal: inverses of lesser ones are infinite.
const leastScale = 0x1p-126

// Dynamic reports whether the factor changes.
func (l LossScale) Dynamic() bool { return l.GrowthSteps > 0 }

func (l LossScale) none() bool { return l == LossScale{} }

func (l LossScale) check() error {
	switch {
	case l.none():
	case !(l.Initial >= leastScale && l.Initial <= math.MaxFloat32) || l.GrowthSteps < 0:
		return fmt.Errorf("got %g, growing after %d updates: expected a number from %.3g to %.3g, and updates >= 0", l.Initial, l.GrowthSteps, leastScale, math.MaxFloat32)
	case l.Dynamic() && l.Initial < 1:
		return fmt.Errorf("got %g: expected at least 1 of one that changes", l.Initial)
	}
	return nil
}

// ScaleState are the variables of a LossScale that changes. They belong to the
// model's graph, as the differentiated loss depends on one of them.
type ScaleState struct {
	Scale *models.Variable // "current_loss_scale", a scalar of the loss's type
	Good  *models.Variable // "good_steps", int64: finite updates since the scale last changed
}

// scaled returns what is differentiated in place of the loss, and the state that it depends on.
func (l LossScale) scaled(b *models.Builder, loss *G.Node) (*G.Node, *ScaleState, error) {
	if err := l.check(); err != nil {
		return nil, nil, fmt.Errorf("loss_scale: %w", err)
	}
	if l.none() {
		return loss, nil, nil
	}
	d := models.GraphType(loss.Dtype())
	if !d.Float() {
		return nil, nil, fmt.Errorf("loss_scale: expected a loss of a float type, got %v", d)
	}
	var state *ScaleState
	var factor *G.Node
	if l.Dynamic() {
		variable := func(name string, d tensor.DType, v float64) *models.Variable {
			return b.VariableOf(b.Variable(name, nil, models.NonTrainable(), models.WithDType(d), models.WithInit(initializers.Constant{Value: v})))
		}
		state = &ScaleState{variable("current_loss_scale", d, l.Initial), variable("good_steps", tensor.Int64, 0)}
		if err := b.Err(); err != nil {
			return nil, nil, err
		}
		factor = state.Scale.Node
	} else if d == tensor.Float32 {
		factor = G.NewConstant(float32(l.Initial))
	} else {
		factor = G.NewConstant(l.Initial)
	}
	scaled, err := G.Mul(loss, factor)
	if err != nil {
		return nil, nil, fmt.Errorf("loss_scale: %w", err)
	}
	return scaled, state, nil
}

// scaling is a LossScale while an update is emitted.
type scaling struct {
	scale  graph.Output // as of the start of the step
	good   num          // likewise
	finite graph.Output // bool: all gradients are
}

// unscale divides the gradients by the scale and, where it changes, finds out
// whether they are all finite: then finite is valid.
func (em *emission) unscale(grads []lower.Value) ([]lower.Value, *scaling, error) {
	l := em.LossScale
	if err := l.check(); err != nil {
		return nil, nil, fmt.Errorf("train op: loss_scale: %w", err)
	}
	if l.none() {
		return grads, &scaling{}, nil
	}
	if l.Dynamic() != (em.Scale != nil) {
		return nil, nil, errors.New("train op: expected the variables of a loss scale that changes, and of no other: Minimize makes them")
	}
	b, s := em.b, &scaling{}
	c := calc{b, scaleScope}
	inverse := number(1 / l.Initial)
	if em.Scale != nil {
		s.scale = read(b, em.Scale.Scale)
		s.good = num{out: cast(b, scaleScope+"Cast", read(b, em.Scale.Good), tensor.Float64)}
		inverse = c.div(number(1), num{out: cast(b, scaleScope+"Cast", s.scale, tensor.Float64)})
	}
	out := make([]lower.Value, len(grads))
	for i, g := range grads {
		out[i] = g.Map(func(x graph.Output) graph.Output {
			x = b.Op("Mul", scaleScope+"Mul", x.Type(), graph.Attrs{"T": x.DType()}, x, cast(b, scaleScope+"Cast", c.output(inverse), x.DType()))
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

// allFinite is whether no element of x is infinite or NaN.
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

// wild marks a value that is not finite where gradients overflow, if that is looked after.
func (em *emission) wild(x graph.Output) graph.Output {
	if em.Scale != nil && x.Valid() {
		x.Node.Attrs[graph.MayOverflow] = true
	}
	return x
}

// both is x and y, or the one that is there.
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
	c := calc{b, scaleScope}
	pick := func(cond graph.Output, yes, no num) num {
		return num{out: choose(b, cond, scaleScope, scalar64, c.output(yes), c.output(no))}
	}
	scale := num{out: cast(b, scaleScope+"Cast", s.scale, tensor.Float64)}
	good, full := c.add(s.good, number(1)), number(float64(em.LossScale.GrowthSteps))
	double := c.mul(scale, number(2))
	double = c.whenLess(number(math.MaxFloat32), double, scale, double)
	next := pick(s.finite, c.whenLess(good, full, scale, double), c.max(c.div(scale, number(2)), number(1)))
	count := pick(s.finite, c.whenLess(good, full, good, number(0)), number(0))
	if em.due.Valid() {
		next, count = pick(em.due, next, scale), pick(em.due, count, s.good)
	}
	v := em.Scale
	return []Next{{v.Scale.Name, cast(b, scaleScope+"Cast", c.output(next), v.Scale.DType)}, {v.Good.Name, cast(b, scaleScope+"Cast", c.output(count), tensor.Int64)}}
}

// Next is the value that a variable has after a step.
type Next struct {
	Variable string
	Value    graph.Output
}

// Unscaled are gradients without their scale, for a strategy that makes updates
// elsewhere, each variable's by itself.
type Unscaled struct {
	Train     *TrainOp      // the update that takes them: without a scale
	Gradients []lower.Value // in the order of the groups
	// Finite, of type bool, tells whether they are to be applied; not valid where they always are.
	Finite graph.Output
	// State are the variables of a scale that changes, to be assigned after each step.
	State []Next
}

// Unscale takes the loss scale, if there is one, out of gradients and of the update.
func (t *TrainOp) Unscale(b *graph.Builder, grads []lower.Value) (Unscaled, error) {
	em := &emission{TrainOp: t, b: b}
	grads, s, err := em.unscale(grads)
	if err != nil {
		return Unscaled{}, err
	}
	plain := *t
	plain.LossScale, plain.Scale = LossScale{}, nil
	return Unscaled{Train: &plain, Gradients: grads, Finite: s.finite, State: em.rescaled(s)}, b.Err()
}

// read reads a variable as of the start of the step.
func read(b *graph.Builder, v *models.Variable) graph.Output {
	return b.Read(b.Variable(v.Name, v.Type()), v.Type())
}
