package optimizers

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/registry"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// StepOp trains by a registered function over named variables instead of gradients:
// K-means, boosted trees, dual coordinate ascent. It is data, so that every strategy
// can run the function where the variables are.
type StepOp struct {
	Function  string             // its registered name
	Config    []byte             // passed to MakeStepFunction
	Args      []*G.Node          // nodes whose values Collect gets for each batch
	Variables []*models.Variable // variables that both may read, and Apply may change
}

// StepFunction is a training step as a map and a reduce. Several instances exist, each
// used by one goroutine at a time. An instance must keep nothing between calls but
// memory to reuse: all state is in the variables.
//
// If the strategy's transfer says so, float32 tensors are rounded between workers and
// parameter servers; tensors of other types are not.
type StepFunction interface {
	// Begin returns the number of sums of a step at the current values of the variables,
	// and their stamp. Sums with the same stamp can be added. Tallies with another stamp
	// are stale and dropped, for example sums for a layer that a tree has already
	// grown. A function that can use late sums always returns the same stamp.
	Begin(vars StepVariables) (sums int, stamp int64, err error)
	// Collect adds a batch's contribution to t. It changes no variable.
	Collect(vars StepVariables, args []*tensor.Tensor, t *Tally) error
	// Apply changes the variables by a tally of one or more batches. It must depend only
	// on its arguments, so that all copies of the variables are bit-identical. After an
	// error the variables must be unchanged.
	Apply(vars StepVariables, t *Tally) error
}

// StepVariables are the variables of a step function by name.
type StepVariables interface {
	// Value returns a variable's current value, for reading; nil if the StepOp has no variable of that name.
	Value(name string) *tensor.Tensor
	// Change returns a value for changing it in place, in Apply.
	Change(name string) *tensor.Tensor
	// ChangeRow returns a value for changing one row, along the first dimension, in place, in Apply.
	// So the cost of a step that changes few rows of a large variable depends only on these rows.
	ChangeRow(name string, row int) *tensor.Tensor
}

// Tally is the result of Collect for one or more batches, and the input of Apply.
type Tally struct {
	// Stamp and the length of Sums are what Begin returned. The sums of a new tally are
	// 0.
	Stamp int64
	Sums  []float64
	// Records are concatenated in the order of the replicas.
	Records []byte
}

// reset empties the tally, keeping its memory.
func (t *Tally) reset(sums int, stamp int64) {
	if cap(t.Sums) < sums {
		t.Sums = make([]float64, sums)
	}
	t.Sums = t.Sums[:sums]
	clear(t.Sums)
	t.Stamp, t.Records = stamp, t.Records[:0]
}

// Set makes t a copy of other.
func (t *Tally) Set(other *Tally) {
	t.Stamp, t.Sums, t.Records = other.Stamp, append(t.Sums[:0], other.Sums...), append(t.Records[:0], other.Records...)
}

// Add adds a tally of the same stamp and length.
func (t *Tally) Add(other *Tally) error {
	if t.Stamp != other.Stamp || len(t.Sums) != len(other.Sums) {
		return fmt.Errorf("tally of %d sums with stamp %d: expected %d with stamp %d", len(other.Sums), other.Stamp, len(t.Sums), t.Stamp)
	}
	for i, x := range other.Sums {
		t.Sums[i] += x
	}
	t.Records = append(t.Records, other.Records...)
	return nil
}

// MakeStepFunction makes a function from a StepOp's Config.
type MakeStepFunction func(config []byte) (StepFunction, error)

var stepFunctions = registry.New[MakeStepFunction]("step function", nil)

// RegisterStepFunction makes a function available in this process under a unique name.
// Call it in an init function of a package that is linked into every task's binary,
// including the parameter servers'.
func RegisterStepFunction(name string, make MakeStepFunction) {
	if make == nil || stepFunctions.Register(name, make) != nil {
		panic(fmt.Sprintf("step function %q: expected a new name and a function", name))
	}
}

// ErrStepFunction is returned if a TrainOp has a step function but gradients are needed.
var ErrStepFunction = errors.New("train op is a step function: it has no gradients to apply")

// check reports a StepOp that cannot run.
func (o *StepOp) check() error {
	if len(o.Variables) == 0 {
		return fmt.Errorf("step function %q: expected variables that it changes, got none", o.Function)
	}
	for i, n := range o.Args {
		if n == nil {
			return fmt.Errorf("step function %q: argument %d is nil: expected a node", o.Function, i)
		}
	}
	names := map[string]bool{}
	for i, v := range o.Variables {
		if v == nil || names[v.Name] {
			return fmt.Errorf("step function %q: variable %d is nil or there twice", o.Function, i)
		}
		names[v.Name] = true
	}
	_, err := NewStepRun(o.Function, o.Config)
	return err
}

// Check reports a TrainOp that has neither or both of groups and a step function. It also
// reports gradient settings with a step function, and a function that cannot run.
func (t *TrainOp) Check() error {
	switch {
	case t.Step == nil && len(t.Groups) == 0:
		return errors.New("train op: expected groups of variables, or a step function")
	case t.Step == nil:
		return nil
	case len(t.Groups) > 0:
		return fmt.Errorf("train op: step function %q beside %d groups of variables: expected one or the other", t.Step.Function, len(t.Groups))
	case len(t.Transforms) > 0 || t.accumulates() || !t.LossScale.None() || t.SkipNonFinite != 0:
		return fmt.Errorf("train op: step function %q has no gradients: expected no transforms, accumulate_steps, loss_scale and skip_nonfinite", t.Step.Function)
	}
	return t.Step.check()
}
