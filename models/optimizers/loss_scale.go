package optimizers

import (
	"fmt"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// LossScale multiplies the loss for differentiation, so that small gradients do not
// underflow in a type of few bits. The gradients are divided by it before transforms
// and rules. The zero value does not scale. Loss scaling follows
// tf.keras.mixed_precision.LossScaleOptimizer.
type LossScale struct {
	// Initial is the factor, or the first one if it changes. It must be from 2^-126 to the
	// largest float32, so that its inverse is also a float32, and >= 1 if it changes.
	Initial float64
	// GrowthSteps > 0 lets the factor change: it doubles after GrowthSteps consecutive
	// updates with finite gradients. An update with a gradient that is not finite is
	// skipped: variables and slots do not change, the global step advances, and the factor
	// is halved, down to 1. With 0 the factor is fixed, and no update is skipped.
	GrowthSteps int64
}

// DynamicLossScale returns a LossScale that begins with 2^15 and grows after 2000 updates, as in Keras.
func DynamicLossScale() LossScale { return LossScale{Initial: 1 << 15, GrowthSteps: 2000} }

// NewLossScale returns the loss scale for a value in a config file: none, dynamic or a
// number > 0, which may be text.
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
	return l, l.Check()
}

// leastScale is the least normal float32: inverses of smaller numbers may be infinite.
const leastScale = 0x1p-126

// Dynamic reports whether the factor changes.
func (l LossScale) Dynamic() bool { return l.GrowthSteps > 0 }

// None reports whether the loss is not scaled.
func (l LossScale) None() bool { return l == LossScale{} }

// Check reports a factor that is out of range.
func (l LossScale) Check() error {
	switch {
	case l.None():
	case !(l.Initial >= leastScale && l.Initial <= math.MaxFloat32) || l.GrowthSteps < 0:
		return fmt.Errorf("got %g, growing after %d updates: expected a number from %.3g to %.3g, and updates >= 0", l.Initial, l.GrowthSteps, leastScale, math.MaxFloat32)
	case l.Dynamic() && l.Initial < 1:
		return fmt.Errorf("got %g: expected at least 1 of one that changes", l.Initial)
	}
	return nil
}

// ScaleState has the variables of a LossScale that changes. They belong to the model's
// graph, since the differentiated loss depends on Scale.
type ScaleState struct {
	Scale *models.Variable // "current_loss_scale", a scalar of the loss's type
	Good  *models.Variable // "good_steps", int64: finite updates since the scale last changed
}

// scaled returns the node to differentiate instead of the loss, and the state that it
// depends on.
func (l LossScale) scaled(b *models.Builder, loss *G.Node) (*G.Node, *ScaleState, error) {
	if err := l.Check(); err != nil {
		return nil, nil, fmt.Errorf("loss_scale: %w", err)
	}
	if l.None() {
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
