package optimizers

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// StepRun calls an instance of a step function for a strategy. Errors name the
// function. Panics of the function become errors.
type StepRun struct {
	name string
	f    StepFunction
}

// NewStepRun makes an instance of a registered function.
func NewStepRun(function string, config []byte) (r *StepRun, err error) {
	make, err := stepFunctions.Lookup(function)
	if err != nil {
		return nil, fmt.Errorf("step function %q is not registered in this program: expected one of %q; link the package that registers it", function, stepFunctions.Names())
	}
	r = &StepRun{name: function}
	err = r.guard("configuration", func() error {
		r.f, err = make(config)
		return err
	})
	if err == nil && r.f == nil {
		err = fmt.Errorf("step function %q: made no function", function)
	}
	return r, err
}

func (r *StepRun) guard(what string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("step function %q: %s: panic: %v", r.name, what, p)
		}
	}()
	if err := call(); err != nil {
		return fmt.Errorf("step function %q: %s: %w", r.name, what, err)
	}
	return nil
}

// Begin empties a tally, for the current values of the variables.
func (r *StepRun) Begin(v *StepValues, t *Tally) error {
	return r.guard("begin", func() error {
		v.open = false
		n, stamp, err := r.f.Begin(v)
		if err != nil {
			return err
		}
		if n < 0 || n > maxSums {
			return fmt.Errorf("%d sums: expected 0 to %d", n, maxSums)
		}
		t.reset(n, stamp)
		return nil
	})
}

// maxSums bounds the sums of a step: more are a mistake.
const maxSums = 1 << 30

// Collect adds a batch to a tally that Begin emptied.
func (r *StepRun) Collect(v *StepValues, args []*tensor.Tensor, t *Tally) error {
	return r.guard("collect", func() error {
		v.open = false
		n, stamp := len(t.Sums), t.Stamp
		if err := r.f.Collect(v, args, t); err != nil {
			return err
		}
		if len(t.Sums) != n || t.Stamp != stamp {
			return fmt.Errorf("the tally has %d sums with stamp %d now: expected %d with stamp %d, as Begin told", len(t.Sums), t.Stamp, n, stamp)
		}
		return nil
	})
}

// Fits reports whether a tally belongs to the current values of the variables. A tally
// with their stamp but another length is an error.
func (r *StepRun) Fits(v *StepValues, t *Tally) (fits bool, err error) {
	err = r.guard("begin", func() error {
		v.open = false
		n, stamp, err := r.f.Begin(v)
		if err != nil || stamp != t.Stamp {
			return err
		}
		if n != len(t.Sums) {
			return fmt.Errorf("a tally of %d sums with stamp %d: expected %d", len(t.Sums), stamp, n)
		}
		fits = true
		return nil
	})
	return fits, err
}

// Apply changes the values. After an error they must not be used.
func (r *StepRun) Apply(v *StepValues, t *Tally) error {
	v.reset()
	defer func() { v.open = false }()
	return r.guard("apply", func() error {
		v.open = true
		return r.f.Apply(v, t)
	})
}

// StepValues are a step function's variables in memory.
type StepValues struct {
	tensors map[string]*tensor.Tensor
	changed map[string]*changedRows
	open    bool // changes are allowed
}

// changedRows are the rows of a value that the last Apply changed.
type changedRows struct {
	all  bool
	rows []int
}

var _ StepVariables = (*StepValues)(nil)

// NewStepValues takes tensors by the names of their variables.
func NewStepValues(tensors map[string]*tensor.Tensor) *StepValues {
	v := &StepValues{tensors: tensors, changed: map[string]*changedRows{}}
	for name := range tensors {
		v.changed[name] = &changedRows{}
	}
	return v
}

// Value returns the value of that name, nil for none.
func (v *StepValues) Value(name string) *tensor.Tensor { return v.tensors[name] }

// Change returns a value and records it as changed. If that is not allowed it panics,
// which StepRun turns into an error.
func (v *StepValues) Change(name string) *tensor.Tensor {
	t := v.tensors[name]
	if t == nil {
		return nil
	}
	v.check(name)
	v.changed[name].all = true
	return t
}

// ChangeRow returns a value and records one of its rows as changed. It panics if Change
// would, or if there is no such row.
func (v *StepValues) ChangeRow(name string, row int) *tensor.Tensor {
	t := v.tensors[name]
	if t == nil {
		return nil
	}
	v.check(name)
	if len(t.Shape) == 0 || row < 0 || row >= t.Shape[0] {
		panic(fmt.Sprintf("row %d of variable %s, which has the shape %v, is changed", row, name, t.Shape))
	}
	if c := v.changed[name]; !c.all {
		c.rows = append(c.rows, row)
	}
	return t
}

func (v *StepValues) check(name string) {
	if !v.open {
		panic(fmt.Sprintf("variable %s is changed outside Apply", name))
	}
}

// reset clears the record of changes.
func (v *StepValues) reset() {
	for _, c := range v.changed {
		c.all, c.rows = false, c.rows[:0]
	}
}

// Changed returns the names of the values that the last Apply changed, sorted.
func (v *StepValues) Changed() []string {
	var names []string
	for name, c := range v.changed {
		if c.all || len(c.rows) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ChangedRows returns the rows of a value that the last Apply changed, possibly with
// duplicates, or reports that all may have changed.
func (v *StepValues) ChangedRows(name string) (rows []int, all bool) {
	c := v.changed[name]
	if c == nil {
		return nil, false
	}
	return c.rows, c.all
}
