package ps

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/expr"
	"reflect"

	"github.com/goestimator/goestimator/models/optimizers"
)

// ruleJSON encodes a rule as {"name": ..., "parameters": {...}}.
type ruleJSON struct{ optimizers.Rule }

// scheduleJSON encodes a schedule in the same form, with "then" for a warm-up's.
type scheduleJSON struct{ optimizers.Schedule }

type named struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Then       json.RawMessage `json:"then,omitempty"` // of a warm-up: the following schedule
}

// Rules and schedules by name: their types.
var (
	ruleTypes     = map[string]reflect.Type{}
	scheduleTypes = map[string]reflect.Type{
		"constant": reflect.TypeFor[optimizers.Constant](), "exponential": reflect.TypeFor[optimizers.Exponential](),
		"inverse_time": reflect.TypeFor[optimizers.InverseTime](), "natural_exp": reflect.TypeFor[optimizers.NaturalExp](),
		"piecewise_constant": reflect.TypeFor[optimizers.PiecewiseConstant](), "polynomial": reflect.TypeFor[optimizers.Polynomial](),
		"cosine": reflect.TypeFor[optimizers.Cosine](), "cosine_restarts": reflect.TypeFor[optimizers.CosineRestarts](),
		"noam": reflect.TypeFor[optimizers.Noam](), "one_cycle": reflect.TypeFor[optimizers.OneCycle](),
	}
)

const warmup = "warmup"

// The names of user-defined rules and schedules, which are sent as programs.
const (
	customRule = "custom"
	formula    = "formula"
)

// formulaSchedule is a schedule whose Go code this process may not have.
type formulaSchedule struct{ expr.Program }

const formulaInput = "step"

// At returns the rate at a step.
func (s formulaSchedule) At(step expr.Expr) expr.Expr {
	return s.Bind(map[string]expr.Expr{formulaInput: step})[0]
}

// check returns an error for a formula that At cannot evaluate.
func (s formulaSchedule) check() error {
	if len(s.Results) != 1 {
		return fmt.Errorf("formula with %d results: expected one", len(s.Results))
	}
	return s.Check(formulaInput)
}

func init() {
	for _, name := range optimizers.Names() {
		o, err := optimizers.New(name, nil)
		if err != nil {
			panic(err) // a rule without defaults cannot be registered
		}
		ruleTypes[name] = reflect.TypeOf(o.Rule)
	}
	ruleTypes[customRule] = reflect.TypeFor[rule.Custom]()
}

// MarshalJSON implements json.Marshaler.
func (r ruleJSON) MarshalJSON() ([]byte, error) {
	if r.Rule == nil {
		return nil, errors.New("no rule")
	}
	name := r.Name()
	if averaged, ok := r.Rule.(rule.Averaged); ok {
		p, err := json.Marshal(averagedJSON{ruleJSON{averaged.Rule}, averaged.Averaging})
		if err != nil {
			return nil, err
		}
		return json.Marshal(named{Name: averagedRule, Parameters: p})
	}
	if _, own := r.Rule.(rule.Custom); own {
		name = customRule
	}
	if ruleTypes[name] != reflect.TypeOf(r.Rule) {
		return nil, fmt.Errorf("rule %s is not registered as a %T", name, r.Rule)
	}
	p, err := json.Marshal(r.Rule)
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", r.Name(), err)
	}
	return json.Marshal(named{Name: name, Parameters: p})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *ruleJSON) UnmarshalJSON(text []byte) error {
	var n named
	if err := json.Unmarshal(text, &n); err == nil && n.Name == averagedRule {
		return r.averaged(n)
	}
	v, n, err := decodeNamed(text, ruleTypes)
	if err != nil {
		return fmt.Errorf("rule: %w", err)
	}
	rule, ok := v.(optimizers.Rule)
	if !ok {
		return fmt.Errorf("rule %q is none", n.Name)
	}
	r.Rule = rule
	return nil
}

// MarshalJSON implements json.Marshaler.
func (s scheduleJSON) MarshalJSON() ([]byte, error) {
	if w, ok := s.Schedule.(optimizers.Warmup); ok {
		steps, err := json.Marshal(w.Steps)
		if err != nil {
			return nil, err
		}
		if _, nested := w.Then.(optimizers.Warmup); nested {
			return nil, errNestedWarmup
		}
		then, err := json.Marshal(scheduleJSON{w.Then})
		if err != nil {
			return nil, err
		}
		return json.Marshal(named{Name: warmup, Parameters: steps, Then: then})
	}
	for name, t := range scheduleTypes {
		if t == reflect.TypeOf(s.Schedule) {
			p, err := json.Marshal(s.Schedule)
			if err != nil {
				return nil, fmt.Errorf("schedule %s: %w", name, err)
			}
			return json.Marshal(named{Name: name, Parameters: p})
		}
	}
	own, ok := s.Schedule.(formulaSchedule)
	if !ok {
		own = formulaSchedule{expr.Trace(s.At(expr.Input(formulaInput)))}
	}
	if err := own.check(); err != nil {
		return nil, fmt.Errorf("schedule %T: %w", s.Schedule, err)
	}
	p, err := json.Marshal(own.Program)
	if err != nil {
		return nil, fmt.Errorf("schedule %T: %w", s.Schedule, err)
	}
	return json.Marshal(named{Name: formula, Parameters: p})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *scheduleJSON) UnmarshalJSON(text []byte) error {
	var n named
	if err := json.Unmarshal(text, &n); err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	if n.Name == warmup {
		return s.warmUp(n)
	}
	if n.Name == formula {
		var own formulaSchedule
		if err := json.Unmarshal(n.Parameters, &own.Program); err != nil {
			return fmt.Errorf("schedule %s: %w", formula, err)
		}
		if err := own.check(); err != nil {
			return fmt.Errorf("schedule: %w", err)
		}
		s.Schedule = own
		return nil
	}
	v, _, err := decodeNamed(text, scheduleTypes)
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	s.Schedule, _ = v.(optimizers.Schedule)
	return nil
}

// errNestedWarmup: each warm-up computes the following schedule twice, so a chain of them would take exponential time.
var errNestedWarmup = fmt.Errorf("schedule %s: expected a schedule behind it that is not one itself", warmup)

// warmUp sets s to a warm-up.
func (s *scheduleJSON) warmUp(n named) error {
	var behind named
	if err := json.Unmarshal(n.Then, &behind); err != nil {
		return fmt.Errorf("schedule %s: expected a number of steps and the schedule behind it: %w", warmup, err)
	}
	if behind.Name == warmup {
		return errNestedWarmup
	}
	w, then := optimizers.Warmup{}, scheduleJSON{}
	if err := json.Unmarshal(n.Parameters, &w.Steps); err != nil {
		return fmt.Errorf("schedule %s: expected a number of steps: %w", warmup, err)
	}
	if err := json.Unmarshal(n.Then, &then); err != nil {
		return err
	}
	w.Then = then.Schedule
	s.Schedule = w
	return nil
}

// decodeNamed makes a value of the named type.
func decodeNamed(text []byte, types map[string]reflect.Type) (any, named, error) {
	var n named
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, n, err
	}
	t := types[n.Name]
	if t == nil {
		return nil, n, fmt.Errorf("unknown name %q", n.Name)
	}
	v := reflect.New(t)
	if err := json.Unmarshal(n.Parameters, v.Interface()); err != nil {
		return nil, n, fmt.Errorf("%s: %w", n.Name, err)
	}
	return v.Elem().Interface(), n, nil
}
