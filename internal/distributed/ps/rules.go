package ps

import (
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/internal/training/update"
	"math"
	"regexp"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// Rules are a TrainOp without its variables and gradients: the part of an optimizer that a
// parameter server needs.
type Rules struct {
	Groups          []Rule                 `json:",omitempty"`
	Transforms      []optimizers.Transform `json:",omitempty"`
	AccumulateSteps int                    `json:",omitempty"`
	SlotNames       optimizers.SlotNames   `json:",omitempty"`
	Step            *StepRule              `json:",omitempty"`
}

// Rule is the rule of one group.
type Rule struct {
	Rule         ruleJSON
	LearningRate scheduleJSON
	WeightDecay  float64 `json:",omitempty"`
	NoDecay      string  `json:",omitempty"`
}

// newRules takes the rules from a TrainOp; nil has none.
func newRules(t *optimizers.TrainOp) (Rules, error) {
	if t == nil {
		return Rules{}, nil
	}
	if t.Step != nil {
		r := Rules{Step: &StepRule{Function: t.Step.Function, Config: t.Step.Config}}
		return r, t.Check()
	}
	if _, waits, _ := t.Plateau(); waits {
		return Rules{}, errPlateau
	}
	r := Rules{Transforms: t.Transforms, AccumulateSteps: t.AccumulateSteps, SlotNames: t.SlotNames}
	for _, g := range t.Groups {
		r.Groups = append(r.Groups, Rule{Rule: ruleJSON{g.Rule}, LearningRate: scheduleJSON{g.LearningRate}, WeightDecay: g.WeightDecay, NoDecay: g.NoDecay})
	}
	return r, r.check()
}

var errPlateau = errors.New("rules: the learning rate waits for a plateau of evaluations: expected training in one process, without parameter servers")

func (r *Rules) check() error {
	if len(r.Groups) > maxVariables || r.AccumulateSteps < 0 {
		return fmt.Errorf("rules: %d groups, %d steps to accumulate", len(r.Groups), r.AccumulateSteps)
	}
	if r.Step != nil && (len(r.Groups) > 0 || len(r.Transforms) > 0) {
		return fmt.Errorf("rules: step function %q beside %d groups and %d transforms", r.Step.Function, len(r.Groups), len(r.Transforms))
	}
	for i, g := range r.Groups {
		if g.Rule.Rule == nil || g.LearningRate.Schedule == nil {
			return fmt.Errorf("rules: group %d: expected a rule and a learning rate", i)
		}
		if err := checkRule(g.Rule.Rule); err != nil {
			return fmt.Errorf("rules: group %d: %w", i, err)
		}
		if _, err := regexp.Compile(g.NoDecay); err != nil {
			return fmt.Errorf("rules: group %d: no_decay: %w", i, err)
		}
		if n := boundaries(g.LearningRate.Schedule); n > maxBoundaries {
			return fmt.Errorf("rules: group %d: learning rate of %d boundaries: expected at most %d", i, n, maxBoundaries)
		}
		if math.IsNaN(optimizers.RateAt(g.LearningRate, 0)) {
			return fmt.Errorf("rules: group %d: learning rate %+v is NaN at step 0", i, g.LearningRate.Schedule)
		}
	}
	if len(r.Transforms) > 1 {
		return fmt.Errorf("rules: %d transforms of gradients: expected at most one with parameter servers", len(r.Transforms))
	}
	for _, t := range r.Transforms {
		switch t.Kind {
		case optimizers.ClipNorm, optimizers.ClipValue, optimizers.ClipGlobalNorm:
		default:
			return fmt.Errorf("rules: unknown transform %q", t.Kind)
		}
		if !(t.Limit > 0) || r.AccumulateSteps > 1 {
			return errors.New("rules: expected a limit > 0 for clipping, and no accumulation of gradients beside it with parameter servers")
		}
	}
	return nil
}

// checkRule returns an error for a rule, perhaps from another process, that cannot run.
func checkRule(r optimizers.Rule) error {
	if averaged, ok := r.(rule.Averaged); ok {
		if err := averaged.Check(); err != nil {
			return err
		}
		r = averaged.Rule
	}
	if own, ok := r.(rule.Custom); ok {
		return own.Check()
	}
	return nil
}

// maxBoundaries bounds a piecewise constant rate, whose formula is nested as deep as it has boundaries.
const maxBoundaries = 4096

// boundaries is the number of steps at which a schedule changes its formula.
func boundaries(s optimizers.Schedule) int {
	switch s := s.(type) {
	case optimizers.Warmup:
		return boundaries(s.Then)
	case optimizers.PiecewiseConstant:
		return len(s.Boundaries)
	}
	return 0
}

// trainOp returns the rules of one group for only the given variables. Its slots have their own
// names; see Variable.Slots for the names in checkpoints.
func (r *Rules) trainOp(group int, variables ...*models.Variable) *optimizers.TrainOp {
	g := r.Groups[group]
	return &optimizers.TrainOp{AccumulateSteps: r.AccumulateSteps, SlotNames: r.SlotNames, Groups: []optimizers.Group{{
		Variables: variables, Rule: g.Rule.Rule, LearningRate: g.LearningRate.Schedule, WeightDecay: g.WeightDecay, NoDecay: g.NoDecay,
	}}}
}

// byRow reports whether a sparse gradient changes only the rows that it names.
func (r *Rules) byRow(group int) bool {
	if r.Groups[group].WeightDecay != 0 || r.AccumulateSteps > 1 {
		return false
	}
	own, ok := r.Groups[group].Rule.Rule.(rule.Rule)
	return ok && !own.Traits().AllRows
}

// counted reports whether an update depends on the number of earlier updates.
func (r *Rules) counted(group int) bool {
	_, averaged := r.Groups[group].Rule.Rule.(rule.Averaged)
	return averaged || r.AccumulateSteps > 1
}

// whole reports whether an update depends on all elements of a variable, which then has one part.
func (r *Rules) whole(group int) bool {
	own, ok := r.Groups[group].Rule.Rule.(rule.Rule)
	return ok && own.Traits().Whole
}

// counts returns the number of slots of a variable in a group without its accumulator, the number
// of scalars that the group shares, and 1 if there is an accumulator.
func (r *Rules) counts(group int, d tensor.DType) (slots, shared, sums int) {
	v := &models.Variable{Name: "v", DType: d, Shape: []int{1}}
	w := &models.Variable{Name: "w", DType: d, Shape: []int{1}}
	one, two := len(update.Slots(r.trainOp(group, v))), len(update.Slots(r.trainOp(group, v, w)))
	if r.AccumulateSteps > 1 {
		sums = 1
	}
	return two - one - sums, one - (two - one), sums
}

// grouped is the group and state of a variable in a TrainOp.
type grouped struct {
	group         int
	slots, shared []Slot
}

// assignGroups finds each variable's group and the names of its state among all groups, where equal
// names are made unique by numbers.
func assignGroups(t *optimizers.TrainOp) (map[string]*grouped, error) {
	out := map[string]*grouped{}
	if t == nil {
		return out, nil
	}
	rules, err := newRules(t)
	if err != nil || rules.Step != nil {
		return out, err
	}
	left := update.Slots(t)
	take := func(n int) (s []Slot) {
		for _, x := range left[:n] {
			c, _ := x.Init.(initializers.Constant)
			s = append(s, Slot{x.Name, x.Type.DType, c.Value})
		}
		left = left[n:]
		return s
	}
	for i, g := range t.Groups {
		if len(g.Variables) == 0 {
			return nil, fmt.Errorf("group %d has no variables", i)
		}
		slots, shared, _ := rules.counts(i, g.Variables[0].DType)
		for _, v := range g.Variables {
			if out[v.Name] != nil {
				return nil, fmt.Errorf("variable %s has two gradients", v.Name)
			}
			out[v.Name] = &grouped{group: i, slots: take(slots)}
		}
		common := take(shared)
		for _, v := range g.Variables {
			out[v.Name].shared = common
		}
	}
	if rules.AccumulateSteps > 1 {
		for _, g := range t.Groups {
			for _, v := range g.Variables {
				out[v.Name].slots = append(out[v.Name].slots, take(1)...)
			}
		}
	}
	return out, nil
}

// checkSlots compares the state of a variable in a plan with the state that its rule needs.
func (p *Plan) checkSlots(variable int) error {
	v := &p.Variables[variable]
	slots, shared := 0, 0
	if v.Group >= 0 {
		var sums int
		slots, shared, sums = p.Rules.counts(v.Group, v.DType)
		slots += sums
	}
	if len(v.Slots) != slots || len(v.Shared) != shared {
		return fmt.Errorf("variable %q: %d slots and %d shared scalars, its rule has %d and %d", v.Name, len(v.Slots), len(v.Shared), slots, shared)
	}
	return nil
}
