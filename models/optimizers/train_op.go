package optimizers

import (
	"github.com/goestimator/goestimator/models"
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
	SkipNonFinite   int64       // updates in a row; see Optimizer
	Step            *StepOp
	// Earlier are groups of other functions over the same variables, whose state is named before this one's.
	Earlier []Group
}

// Group is a set of variables under one rule.
type Group struct {
	Variables    []*models.Variable
	Gradients    []*G.Node // of the loss by each variable
	Rule         Rule
	LearningRate Schedule
	WeightDecay  float64
	NoDecay      string
	// Optimizer is whose Minimize made the group: functions that minimise by the same one share its state.
	Optimizer *Optimizer
}

// accumulates reports whether several batches make one update.
func (t *TrainOp) accumulates() bool { return t.AccumulateSteps > 1 }
