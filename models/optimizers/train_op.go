package optimizers

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// TrainOp says how a loss is minimised: groups of variables with their
// gradients, rules and schedules; or which step function does it, without groups.
type TrainOp struct {
	Loss            *G.Node
	Groups          []Group
	Unreached       []string // trainable variables that the loss does not depend on
	Transforms      []Transform
	AccumulateSteps int // 0 is 1
	SlotNames       SlotNames
	LossScale       LossScale   // that the gradients have
	Scale           *ScaleState // where LossScale changes, else nil
	Step            *StepOp
}

// Group is a set of variables under one rule.
type Group struct {
	Variables    []*models.Variable
	Gradients    []*G.Node // of the loss by each variable
	Rule         Rule
	LearningRate Schedule
	WeightDecay  float64
	NoDecay      string
}

// Slot is a variable of the optimizer, to be created before the first update.
type Slot struct {
	Name string
	Type graph.Type
	Init models.Initializer
}

// Slots lists the optimizer's variables: the state of each variable in the
// order of the groups, each group followed by what its variables share.
func (t *TrainOp) Slots() []Slot {
	var out []Slot
	for i, g := range t.Groups {
		n := t.names(i)
		for _, v := range g.Variables {
			for j, s := range g.Rule.slots() {
				out = append(out, Slot{n.slot(v, j), v.Type(), initializers.Constant{Value: s.init}})
			}
		}
		for j, p := range g.Rule.traits().powers {
			out = append(out, Slot{n.power(j), graph.Type{DType: g.dtype()}, initializers.Constant{Value: p}})
		}
		if g.Rule.traits().keras {
			out = append(out, Slot{n.iterations(), graph.Type{DType: tensor.Int64}, initializers.Zeros()})
		}
	}
	if t.accumulates() {
		for _, g := range t.Groups {
			for _, v := range g.Variables {
				out = append(out, Slot{accumulatorName(v), v.Type(), initializers.Zeros()})
			}
		}
	}
	return out
}

func (t *TrainOp) accumulates() bool { return t.AccumulateSteps > 1 }

// accumulatorName is where the gradients of several batches are summed.
func accumulatorName(v *models.Variable) string { return v.Name + "/gradient_accumulator" }

// dtype is the type of what the group's variables share.
func (g Group) dtype() tensor.DType { return g.Variables[0].DType }

// names makes the names of one group's state.
type names struct {
	keras  bool
	rule   Rule
	suffix string // "", "_1", ... where earlier groups have the same names
}

func (t *TrainOp) names(group int) names {
	n := names{keras: t.SlotNames == KerasNames, rule: t.Groups[group].Rule}
	same := 0
	for _, g := range t.Groups[:group] {
		if a, b := g.Rule.traits(), n.rule.traits(); a.label == b.label || (a.powers != nil && b.powers != nil) {
			same++
		}
	}
	if same > 0 {
		n.suffix = fmt.Sprintf("_%d", same)
	}
	return n
}

// slot returns the name of state i of a variable. V1 numbers what an optimizer
// of one name makes for a variable; Keras names it.
func (n names) slot(v *models.Variable, i int) string {
	label := n.rule.traits().label
	if n.keras {
		return fmt.Sprintf("training/%s%s/%s/%s", label, n.suffix, v.Name, n.rule.slots()[i].keras)
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
	return fmt.Sprintf("training/%s%s/iter", n.rule.traits().label, n.suffix)
}
