package optimizers

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/registry"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// StepOp trains by a registered function over named variables, in place of
// gradients: K-means, boosted trees, dual coordinate ascent. It is data, so that
// every strategy can run the function where the variables are.
type StepOp struct {
	Function  string             // its registered name
	Config    []byte             // what the function is made with
	Args      []*G.Node          // of the graph; Collect gets their values for each batch
	Variables []*models.Variable // that Apply may change, and both may read
}

// StepFunction is one training step as a map and a reduce. An instance is used by
// one goroutine at a time, and there are several: it keeps nothing between calls
// but memory to reuse. All state is in the variables.
//
// Tensors of float32 may be rounded on their way between workers and parameter
// servers where the strategy's transfer says so; tensors of other types are not.
type StepFunction interface {
	// Begin returns the number of sums that a step has at the variables' present
	// values, and their stamp: sums of one stamp can be added. Tallies of another stamp
	// are stale and are dropped, such as those for the nodes of a layer that a tree no
	// longer has. A function that can use late sums always returns the same stamp.
	Begin(vars StepVariables) (sums int, stamp int64, err error)
	// Collect adds a batch's contribution to t. It changes no variable.
	Collect(vars StepVariables, args []*tensor.Tensor, t *Tally) error
	// Apply changes the variables by a tally of one or more batches. It depends only on
	// its arguments, so that all copies of the variables get the same bits. After an
	// error the variables are as they were before.
	Apply(vars StepVariables, t *Tally) error
}

// StepVariables are the variables of a step function by name.
type StepVariables interface {
	// Value returns a variable's present value, to be read; nil where the StepOp has none of that name.
	Value(name string) *tensor.Tensor
	// Change returns a value that is to be changed in place, in Apply.
	Change(name string) *tensor.Tensor
	// ChangeRow returns a value with one row, along the first dimension, that is to be changed in
	// place, in Apply. A step that changes few rows of a large variable costs by the rows.
	ChangeRow(name string, row int) *tensor.Tensor
}

// Tally is the result of Collect for one or more batches, and the input of Apply.
type Tally struct {
	// Stamp and the length of Sums are the ones that Begin returned; a new tally's sums
	// are 0.
	Stamp int64
	Sums  []float64
	// Records are put one behind the other, in the order of the replicas.
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

// MakeStepFunction makes a function of a StepOp's Config.
type MakeStepFunction func(config []byte) (StepFunction, error)

var stepFunctions = registry.New[MakeStepFunction]("step function", nil)

// RegisterStepFunction makes a function available in this process, under a name of
// its own. Call it in an init function of a package that is linked into every
// task's binary, including the parameter servers'.
func RegisterStepFunction(name string, make MakeStepFunction) {
	if make == nil || stepFunctions.Register(name, make) != nil {
		panic(fmt.Sprintf("step function %q: expected a new name and a function", name))
	}
}

// ErrStepFunction is returned for a TrainOp with a step function where one with gradients is needed.
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
