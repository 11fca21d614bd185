package trace

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// Effects are the values by which a training step changes variables.
type Effects struct {
	Gradients []*lower.Value // in the order of the TrainOp's groups and their variables
	Args      []graph.Output // of the step function
	Updates   []distribute.Update
}

// Effects asks for the gradients of op, the arguments of its step function, and the updates of b.
func (t *Tracing) Effects(b *models.Builder, op *optimizers.TrainOp) Effects {
	e := Effects{Updates: make([]distribute.Update, len(b.Updates()))}
	for _, g := range op.Groups {
		for i, n := range g.Gradients {
			v := &lower.Value{}
			e.Gradients = append(e.Gradients, v)
			t.AddGradient(n, "gradient of "+g.Variables[i].Name, v)
		}
	}
	if op.Step != nil {
		e.Args = make([]graph.Output, len(op.Step.Args))
		for i, n := range op.Step.Args {
			t.Add(n, fmt.Sprintf("argument %d of step function %s", i, op.Step.Function), &e.Args[i])
		}
	}
	for i, u := range b.Updates() {
		e.Updates[i].Variable = u.Variable.Name
		t.Add(u.Value, "update of "+u.Variable.Name, &e.Updates[i].Value)
	}
	return e
}

// Program adds the data for an update to a program.
func (e Effects) Program(p distribute.Program, op *optimizers.TrainOp) distribute.TrainProgram {
	return distribute.TrainProgram{Program: p, Train: op, Args: e.Args, Updates: e.Updates, Gradients: e.Values()}
}

// Guarded adds the loss to what guards an update: the update is skipped if the loss is not finite.
func Guarded(t distribute.TrainProgram) distribute.TrainProgram {
	if t.Train.SkipNonFinite > 0 && t.Loss.Valid() {
		loss := graph.NewBuilder(t.Graph).Cast(update.FiniteLoss+"/Cast", t.Loss, tensor.Float32)
		t.Updates = append(t.Updates[:len(t.Updates):len(t.Updates)], distribute.Update{Variable: update.FiniteLoss, Value: loss})
	}
	return t
}

// Values returns the gradients of a graph that was lowered.
func (e Effects) Values() []lower.Value {
	all := make([]lower.Value, len(e.Gradients))
	for i, g := range e.Gradients {
		all[i] = *g
	}
	return all
}
