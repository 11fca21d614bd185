package estimator

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/goestimator/goestimator/models"
)

// WithFrozen freezes the variables whose full names begin with a match of one of the
// regular expressions: training does not change them. No gradient is computed, sent or
// reduced for them, the optimizer has no slots for them, and running averages among
// them stay as they are. A warm start still sets them. Training fails if a pattern
// matches no variable. [models.Builder.Frozen] freezes single layers.
func WithFrozen(patterns ...string) Option {
	return func(e *Estimator) error {
		for _, p := range patterns {
			r, err := regexp.Compile("^(?:" + p + ")")
			if err != nil || p == "" {
				return errors.Join(fmt.Errorf("frozen: %q: expected a regular expression that names variables", p), err)
			}
			e.frozen = append(e.frozen, r)
		}
		return nil
	}
}

// isFrozen reports whether a variable keeps its value in training.
func (e *Estimator) isFrozen(variable string) bool {
	return slices.ContainsFunc(e.frozen, func(r *regexp.Regexp) bool { return r.MatchString(variable) })
}

// checkFrozen reports patterns without a variable, and a step function, which ignores
// patterns.
func (e *Estimator) checkFrozen(spec *Spec, all []*models.Variable) error {
	marked := slices.ContainsFunc(all, func(v *models.Variable) bool { return v.Frozen })
	if (marked || len(e.frozen) > 0) && spec.TrainOp.Step != nil {
		return errors.New("frozen: the model trains by a step function, which changes its variables as a whole: freeze none of them")
	}
	for _, r := range e.frozen {
		if !slices.ContainsFunc(all, func(v *models.Variable) bool { return r.MatchString(v.Name) }) {
			return fmt.Errorf("frozen: no variable matches %s: `goestimator inspect model` lists them", r)
		}
	}
	return nil
}
