package distribute

import (
	"errors"
	"fmt"
	"slices"

	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// begin makes variables and programs, once.
func (s *Strategy) begin() error {
	if s.opened {
		return nil
	}
	s.opened = true
	if err := s.agree(); err != nil {
		return err
	}
	if err := s.createVariables(); err != nil {
		return err
	}
	var programs []strategies.TrainProgram
	for _, f := range s.functions {
		if f.trains() {
			programs = append(programs, f.training())
		}
	}
	if s.shared != nil && len(programs) == 0 {
		return fmt.Errorf("strategy %s: expected a function that trains among %d: without one run each task by itself", s.Name(), len(s.functions))
	}
	if p, ok := s.inner.(strategies.Planner); ok {
		if err := p.Plan(programs...); err != nil {
			return err
		}
	}
	for _, f := range s.functions {
		if err := f.compile(); err != nil {
			return err
		}
	}
	return nil
}

// agree gives every optimizer its place among those of all functions: a variable
// has one, whose state no other shares.
func (s *Strategy) agree() error {
	owner := map[string]string{}
	var earlier []optimizers.Group
	for _, f := range s.functions {
		op := f.traced.outputs.Train
		if op == nil {
			continue
		}
		op.Earlier = slices.Clone(earlier)
		for _, g := range op.Groups {
			for _, v := range g.Variables {
				if other, ok := owner[v.Name]; ok {
					return fmt.Errorf("variable %s is trained by the functions %s and %s: expected one optimizer for each variable, see optimizers.MinimizeEach", v.Name, other, f.name)
				}
				owner[v.Name] = f.name
			}
		}
		earlier = append(earlier, op.Groups...)
	}
	for _, f := range s.functions {
		if op := f.traced.outputs.Train; op != nil {
			op.Unreached = slices.DeleteFunc(op.Unreached, func(name string) bool { return owner[name] != "" })
		}
	}
	return nil
}

// createVariables makes all variables, with their initial values.
func (s *Strategy) createVariables() error {
	vars := s.inner.Variables()
	for _, v := range s.variables {
		if err := vars.Create(v.Name, typeOf(v), strategies.Initial(v.Name, v.Init, s.seed, typeOf(v))); err != nil {
			return err
		}
	}
	if err := s.createTotals(); err != nil {
		return err
	}
	for _, f := range s.functions {
		op := f.traced.outputs.Train
		if op == nil {
			continue
		}
		for _, slot := range update.Slots(op) {
			if err := vars.Create(slot.Name, slot.Type, strategies.Initial(slot.Name, slot.Init, s.seed, slot.Type)); err != nil {
				return fmt.Errorf("optimizer of function %s: %w", f.name, err)
			}
		}
	}
	return vars.Create(strategies.GlobalStep, stepType, strategies.Whole(tensor.Scalar(int64(0))))
}

// globalStep reads the step.
func (s *Strategy) globalStep() (int64, error) {
	t, err := s.inner.Variables().Get(strategies.GlobalStep)
	if err != nil {
		return 0, err
	}
	return tensor.Values[int64](t)[0], nil
}

// trainOps are those of all functions.
func (s *Strategy) trainOps() []*optimizers.TrainOp {
	var out []*optimizers.TrainOp
	for _, f := range s.functions {
		if f.trains() {
			out = append(out, f.traced.outputs.Train)
		}
	}
	return out
}

var errNoFunction = errors.New("the strategy has no function yet: build one by Strategy.Function")
