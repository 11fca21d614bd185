package optimizers

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// TrainOp says how a loss is minimised: by groups of variables with their gradients,
// rules and schedules, or by a step function.
type TrainOp struct {
	Loss            *G.Node
	Groups          []Group
	Unreached       []string // trainable variables that the loss does not depend on
	Transforms      []Transform
	AccumulateSteps int // 0 is 1
	SlotNames       SlotNames
	LossScale       LossScale   // by which the gradients are scaled
	Scale           *ScaleState // nil unless LossScale changes
	SkipNonFinite   int64       // updates in a row; see Optimizer
	Step            *StepOp
	// Earlier has groups of other functions over the same variables. Their state gets names before this one's.
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
	// Optimizer made the group by Minimize. Functions that minimise with the same Optimizer share its state.
	Optimizer *Optimizer
}

// accumulates reports whether several batches make one update.
func (t *TrainOp) accumulates() bool { return t.AccumulateSteps > 1 }
