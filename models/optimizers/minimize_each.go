package optimizers

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Objective is a loss, the variables that minimise it, and the optimizer.
type Objective struct {
	Loss      *G.Node
	Optimizer *Optimizer
	Variables string // regular expression that must match the beginning of their full names
}

// MinimizeEach differentiates several losses, each by its own variables, such as a
// generator's and a discriminator's. All gradients are computed from the variables before
// the step, and all variables are updated in one step. A variable may have only one
// objective; variables without an objective keep their values.
//
// Transforms apply to the gradients of all objectives. The objectives' optimizers must
// agree in the settings that are not per group: transforms, accumulation, slot names and
// loss scale, which must be fixed. After an error, which the Builder records, the result
// is nil.
func MinimizeEach(c models.Context, objectives ...Objective) *TrainOp {
	b := c.Core()
	if b.Failed() {
		return nil
	}
	t, err := minimizeEach(b, objectives)
	if err != nil {
		b.Fail(fmt.Errorf("minimize each: %w", err))
		return nil
	}
	return t
}

func minimizeEach(b *models.Builder, objectives []Objective) (*TrainOp, error) {
	if len(objectives) == 0 {
		return nil, errors.New("expected at least one objective")
	}
	total := &TrainOp{}
	updated := map[string]bool{}
	for i, o := range objectives {
		t, err := o.differentiate(b)
		if err != nil {
			return nil, fmt.Errorf("objective %d: %w", i, err)
		}
		for _, g := range t.Groups {
			for _, v := range g.Variables {
				if updated[v.Name] {
					return nil, fmt.Errorf("objective %d: variable %s has another objective: expected variables of its own for each", i, v.Name)
				}
				updated[v.Name] = true
			}
		}
		if i == 0 {
			total = t
			continue
		}
		if err := total.agrees(t); err != nil {
			return nil, fmt.Errorf("objective %d: %w", i, err)
		}
		total.Groups = append(total.Groups, t.Groups...)
	}
	total.Loss, total.Unreached = nil, nil
	for _, v := range b.TrainableVariables() {
		if !updated[v.Name] {
			total.Unreached = append(total.Unreached, v.Name)
		}
	}
	return total, nil
}

// differentiate is Minimize for the objective's variables.
func (o Objective) differentiate(b *models.Builder) (*TrainOp, error) {
	of, err := regexp.Compile("^(?:" + o.Variables + ")")
	if err != nil {
		return nil, fmt.Errorf("variables: %w", err)
	}
	if o.Optimizer == nil {
		return nil, errors.New("expected an optimizer")
	}
	if o.Optimizer.LossScale.Dynamic() {
		return nil, errors.New("a loss scale that changes is of one loss: give a number as loss_scale")
	}
	defer lower.SetAsideDerivatives(b.Expr())()
	return o.Optimizer.minimize(b, o.Loss, nil, of)
}

// agrees returns an error if settings that are not per group differ between t and o.
func (t *TrainOp) agrees(o *TrainOp) error {
	for _, x := range []struct {
		name string
		a, b any
	}{
		{"transforms", append([]Transform{}, t.Transforms...), append([]Transform{}, o.Transforms...)}, {"accumulate_steps", max(t.AccumulateSteps, 1), max(o.AccumulateSteps, 1)},
		{"slot_names", cmp.Or(t.SlotNames, V1Names), cmp.Or(o.SlotNames, V1Names)}, {"loss_scale", t.LossScale, o.LossScale},
		{"skip_nonfinite", t.SkipNonFinite, o.SkipNonFinite},
	} {
		if !reflect.DeepEqual(x.a, x.b) {
			return fmt.Errorf("%s %v, but %v of the first objective: expected one for all", x.name, x.b, x.a)
		}
	}
	return nil
}
