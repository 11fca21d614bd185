package update

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// Slot is a variable of the optimizer, to create before the first update.
type Slot struct {
	Name string
	Type graph.Type
	Init models.Initializer
	// Like is the variable whose initial value an average starts with, even if that does not come from Init; else "".
	Like string
}

// PlateauShare is the variable of a learning rate that waits for a plateau: its share of the initial rate, a float64 scalar.
// Checkpoints of other trainings do not have it.
const PlateauShare = "goestimator/plateau_share"

// Seeded is the name that seeds random initial values.
func (s Slot) Seeded() string { return cmp.Or(s.Like, s.Name) }

// Slots lists the optimizer's variables: the state of each variable in the
// order of the groups, with the shared state of a group after its variables.
func Slots(t *optimizers.TrainOp) []Slot {
	var out []Slot
	for i, g := range t.Groups {
		r, n := ruleOf(g), namesOf(t, i)
		for _, v := range g.Variables {
			for j, s := range r.Slots() {
				out = append(out, slotOf(n.slot(v, j), v, s))
			}
		}
		for j, p := range r.Traits().Powers {
			out = append(out, Slot{Name: n.power(j), Type: graph.TypeOf(dtypeOf(g)), Init: initializers.Constant{Value: p}})
		}
		if r.Traits().Keras {
			out = append(out, Slot{Name: n.iterations(), Type: graph.TypeOf(tensor.Int64), Init: initializers.Zeros()})
		}
	}
	if _, waits, _ := t.Plateau(); waits {
		out = append(out, Slot{Name: PlateauShare, Type: rule.Scalar, Init: initializers.Constant{Value: 1}})
	}
	if t.SkipNonFinite > 0 {
		out = append(out, skipSlots()...)
	}
	if accumulates(t) {
		for _, g := range t.Groups {
			for _, v := range g.Variables {
				out = append(out, Slot{Name: accumulatorName(v), Type: graph.TypeOf(v.DType, v.Shape...), Init: initializers.Zeros()})
			}
		}
	}
	return out
}

// slotOf returns a variable's state as a slot with the given name.
func slotOf(name string, v *models.Variable, s rule.Slot) Slot {
	out := Slot{Name: name, Type: graph.TypeOf(v.DType, v.Shape...), Init: initializers.Constant{Value: s.Init}}
	if s.Own != "" {
		out.Init, out.Like = v.Init, v.Name
	}
	return out
}

// AverageSlots returns the names that averages have after their variables' names, sorted.
func AverageSlots(t *optimizers.TrainOp) []string {
	var out []string
	for _, g := range t.Groups {
		if averaged, ok := g.Rule.(rule.Averaged); ok {
			out = append(out, averaged.Slot())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Averages maps the names of variables to the names of the averages that training keeps.
func Averages(t *optimizers.TrainOp) map[string]string {
	out := map[string]string{}
	if t == nil {
		return out
	}
	for _, s := range Slots(t) {
		if s.Like != "" {
			out[s.Like] = s.Name
		}
	}
	return out
}

func accumulates(t *optimizers.TrainOp) bool { return t.AccumulateSteps > 1 }

// accumulatorName returns the name of the variable that sums the gradients of several batches.
func accumulatorName(v *models.Variable) string { return v.Name + "/gradient_accumulator" }

// ruleOf returns the group's rule; check has verified its type.
func ruleOf(g optimizers.Group) rule.Rule {
	r, ok := g.Rule.(rule.Rule)
	if !ok {
		panic(fmt.Sprintf("update: rule %T was not made by package optimizers", g.Rule))
	}
	return r
}

// dtypeOf is the type of a group's shared state.
func dtypeOf(g optimizers.Group) tensor.DType { return g.Variables[0].DType }

// names names the state of one group.
type names struct {
	keras  bool
	rule   rule.Rule
	suffix string // "", "_1", ...; set if earlier groups have the same names
}

func namesOf(t *optimizers.TrainOp, group int) names {
	n := names{keras: t.SlotNames == optimizers.KerasNames, rule: ruleOf(t.Groups[group])}
	earlier, shared := t.Earlier, t.Groups[group].Optimizer
	if i := slices.IndexFunc(earlier, func(g optimizers.Group) bool { return shared != nil && g.Optimizer == shared }); i >= 0 {
		earlier = earlier[:i] // its names come from there
	}
	same := 0
	for _, g := range slices.Concat(earlier, t.Groups[:group]) {
		if a, b := ruleOf(g).Traits(), n.rule.Traits(); a.Label == b.Label || (a.Powers != nil && b.Powers != nil) {
			same++
		}
	}
	if same > 0 {
		n.suffix = fmt.Sprintf("_%d", same)
	}
	return n
}

// slot returns the name of state i of a variable. V1 numbers the slots that an optimizer
// with a given name makes for a variable; Keras names them.
func (n names) slot(v *models.Variable, i int) string {
	label, s := n.rule.Traits().Label, n.rule.Slots()[i]
	if s.Own != "" {
		return v.Name + "/" + s.Own
	}
	if n.keras {
		return fmt.Sprintf("training/%s%s/%s/%s", label, n.suffix, v.Name, s.Keras)
	}
	if i == 0 {
		return v.Name + "/" + label
	}
	return fmt.Sprintf("%s/%s_%d", v.Name, label, i)
}

// power returns the name of V1 Adam's running power of beta1 or beta2.
func (n names) power(i int) string { return fmt.Sprintf("beta%d_power%s", i+1, n.suffix) }

// iterations returns the name of a Keras optimizer's own count of updates.
func (n names) iterations() string {
	return fmt.Sprintf("training/%s%s/iter", n.rule.Traits().Label, n.suffix)
}
