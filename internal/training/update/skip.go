package update

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// The variables of a training that skips updates which are not finite (optimizers.Optimizer.SkipNonFinite). Checkpoints
// of other trainings do not have them.
const (
	// SkippedInARow counts the updates skipped since the last one that was made, an int64 scalar.
	SkippedInARow = "goestimator/skipped_updates_in_a_row"
	// Skipped counts all skipped updates, an int64 scalar.
	Skipped = "goestimator/skipped_updates"
	// FiniteLoss is the last loss of an update that was made, a float32 scalar. It changes like other variables of a
	// step, so a loss that is not finite is detected wherever they are checked.
	FiniteLoss = "goestimator/finite_loss"
)

const skipScope = "skip_nonfinite/"

// skipSlots returns these variables.
func skipSlots() []Slot {
	count := graph.TypeOf(tensor.Int64)
	return []Slot{{Name: SkippedInARow, Type: count, Init: initializers.Zeros()}, {Name: Skipped, Type: count, Init: initializers.Zeros()},
		{Name: FiniteLoss, Type: graph.TypeOf(tensor.Float32), Init: initializers.Zeros()}}
}

// guards reports whether updates that are not finite are skipped.
func guards(t *optimizers.TrainOp) bool { return t.Scale != nil || t.SkipNonFinite > 0 }

// allAre reports whether the gradients and the next values of other variables are finite. For a dynamic scale, the gradients were checked already.
func (em *emission) allAre(finite graph.Output, grads []lower.Value, others []graph.Output) graph.Output {
	if em.SkipNonFinite == 0 {
		return finite
	}
	if em.Scale == nil {
		for _, g := range grads {
			g.Map(func(x graph.Output) graph.Output {
				finite = em.both(finite, em.allFinite(x))
				return x
			})
		}
	}
	for _, x := range others {
		if x.DType().Float() {
			finite = em.both(finite, em.allFinite(x))
		}
	}
	return finite
}

// countSkipped counts a skipped update.
func (em *emission) countSkipped(finite graph.Output) {
	if em.SkipNonFinite == 0 {
		return
	}
	b, t := em.b, graph.TypeOf(tensor.Int64)
	one := b.Scalar(skipScope+"one", tensor.Int64, 1)
	next := func(name string, otherwise func(old graph.Output) graph.Output) {
		v := b.Variable(name, t)
		old := b.Read(v, t)
		more := b.Op("AddV2", skipScope+"AddV2", t, graph.Attrs{"T": tensor.Int64}, old, one)
		value := rule.Choose(b, finite, skipScope, t, otherwise(old), more)
		if em.due.Valid() {
			value = rule.Choose(b, em.due, skipScope, t, value, old)
		}
		em.targets = append(em.targets, rule.Assign(b, "AssignVariableOp", skipScope+"AssignVariableOp", v, value))
	}
	next(SkippedInARow, func(graph.Output) graph.Output { return b.Scalar(skipScope+"zero", tensor.Int64, 0) })
	next(Skipped, func(old graph.Output) graph.Output { return old })
}
