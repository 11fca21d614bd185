package distribute

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// begin makes variables and programs, once.
func (s *Strategy) begin() error {
	switch {
	case s.closed:
		return errClosed
	case len(s.functions) == 0:
		return errNoFunction
	case !s.opened:
		s.opened, s.failed = true, s.prepare()
	}
	return s.failed
}

func (s *Strategy) prepare() error {
	if err := s.agree(); err != nil {
		return err
	}
	if err := s.noteBegin(); err != nil {
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

// trainer is the optimizer of a variable, in a function.
type trainer struct {
	function  *Function
	optimizer *optimizers.Optimizer
}

// agree numbers the optimizers of all functions. A variable has one optimizer, which
// functions may share.
func (s *Strategy) agree() error {
	owner := map[string]trainer{}
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
					if err := s.share(v.Name, other, trainer{f, g.Optimizer}); err != nil {
						return err
					}
				}
				owner[v.Name] = trainer{f, g.Optimizer}
			}
		}
		earlier = append(earlier, op.Groups...)
	}
	for _, f := range s.functions {
		if op := f.traced.outputs.Train; op != nil {
			op.Unreached = slices.DeleteFunc(op.Unreached, func(name string) bool { return owner[name].function != nil })
		}
	}
	return nil
}

// share reports why two functions cannot train one variable.
func (s *Strategy) share(variable string, a, b trainer) error {
	what := fmt.Sprintf("variable %s is trained by the functions %s and %s", variable, a.function.name, b.function.name)
	op, other := b.function.traced.outputs.Train, a.function.traced.outputs.Train
	switch {
	case a.optimizer == nil || a.optimizer != b.optimizer:
		return fmt.Errorf("%s, by an optimizer each: expected one for each variable; make it before the functions and use it in both", what)
	case s.Name() == "parameter_server":
		return fmt.Errorf("%s: parameter servers apply one rule to a variable: make one function of both losses", what)
	case op.AccumulateSteps > 1 || op.Scale != nil || other.Scale != nil:
		return fmt.Errorf("%s: an optimizer that accumulates gradients, or whose loss scale changes, is of one function", what)
	}
	return nil
}

// initialValue is a variable's value when training begins.
type initialValue struct {
	name string
	typ  graph.Type
	fill strategies.Fill
}

// initialValues returns the initial values of all variables.
func (s *Strategy) initialValues() ([]initialValue, error) {
	var all []initialValue
	for _, v := range s.variables {
		all = append(all, initialValue{v.Name, typeOf(v), strategies.Initial(v.Name, v.Init, s.seed, typeOf(v))})
	}
	for _, f := range s.functions {
		op := f.traced.outputs.Train
		if op == nil {
			continue
		}
		for _, slot := range update.Slots(op) {
			if slices.ContainsFunc(all, func(v initialValue) bool { return v.name == slot.Name }) {
				continue // belongs to an optimizer that functions share
			}
			all = append(all, initialValue{slot.Name, slot.Type, strategies.Initial(slot.Seeded(), slot.Init, s.seed, slot.Type)})
		}
	}
	totals, err := s.initialTotals() // after the variables that TensorFlow has, too: round_robin counts them
	if err != nil {
		return nil, err
	}
	return append(append(all, totals...), initialValue{strategies.GlobalStep, stepType, strategies.Whole(tensor.Scalar(int64(0)))}), nil
}

// createVariables makes all variables, with their initial values.
func (s *Strategy) createVariables() (err error) {
	if s.initial, err = s.initialValues(); err != nil {
		return err
	}
	for _, v := range s.initial {
		if err := s.inner.Variables().Create(v.name, v.typ, v.fill); err != nil {
			return err
		}
	}
	return nil
}

// restart sets all variables to their initial values.
func (s *Strategy) restart() error {
	for _, v := range s.initial {
		if err := s.inner.Variables().Set(v.name, v.fill); err != nil {
			return err
		}
	}
	return nil
}

// globalStep reads the step.
func (s *Strategy) globalStep() (int64, error) {
	t, err := s.inner.Variables().Get(strategies.GlobalStep)
	if err != nil {
		return 0, err
	}
	return tensor.Values[int64](t)[0], nil
}

// trainOps returns the TrainOps of all functions.
func (s *Strategy) trainOps() []*optimizers.TrainOp {
	var out []*optimizers.TrainOp
	for _, f := range s.functions {
		if f.trains() {
			out = append(out, f.traced.outputs.Train)
		}
	}
	return out
}

var errClosed = errors.New("the strategy is closed")

var errNoFunction = errors.New("the strategy has no function yet: build one by Strategy.Function")
