package rule

import (
	"crypto/sha256"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models/expr"
)

// Custom is a rule as data: optimizers.NewRule makes it from a user's function,
// and it is sent to parameter servers.
type Custom struct {
	Label  string       // names the rule and, like TensorFlow's labels, its slots
	States []CustomSlot `json:",omitempty"`
	Next   expr.Program // results: the next values of the variable and of the slots
}

// CustomSlot is a state that a Custom rule keeps for each variable.
type CustomSlot struct {
	Name string
	Init float64
}

// Inputs of a Custom rule's program, besides its slots by name.
const (
	InputVariable = "variable"
	InputGradient = "gradient"
	InputRate     = "learning_rate"
	InputStep     = "step"
)

var _ Rule = Custom{}

// Bounds of a rule.
const (
	maxSlots        = 16
	maxInstructions = 512
)

var plainName = regexp.MustCompile(`^[A-Za-z0-9.][A-Za-z0-9_.-]{0,63}$`)

// Name is the rule's label.
func (r Custom) Name() string { return r.Label }

// GoString returns the label, the slots, and a digest of the program.
func (r Custom) GoString() string {
	sum := sha256.Sum256(fmt.Append(nil, r.Next))
	return fmt.Sprintf("%s{%v %x}", r.Label, r.States, sum[:8])
}

// Traits says that the update is dense.
func (r Custom) Traits() Traits {
	t := Traits{Label: r.Label, AllRows: true}
	for _, i := range r.Next.Instructions {
		t.Whole = t.Whole || i.Op == "Norm"
	}
	return t
}

// Slots lists the rule's state.
func (r Custom) Slots() []Slot {
	var out []Slot
	for _, s := range r.States {
		out = append(out, Slot{Keras: s.Name, Init: s.Init})
	}
	return out
}

// Check reports errors in a rule: it may come from another process.
func (r Custom) Check() error {
	if !plainName.MatchString(r.Label) {
		return fmt.Errorf("rule %q: expected a name of at most 64 letters, digits, '_', '.' and '-'", r.Label)
	}
	if len(r.States) > maxSlots {
		return fmt.Errorf("rule %s: %d slots: expected at most %d", r.Label, len(r.States), maxSlots)
	}
	inputs := []string{InputVariable, InputGradient, InputRate, InputStep}
	for _, s := range r.States {
		switch {
		case !plainName.MatchString(s.Name):
			return fmt.Errorf("rule %s: slot %q: expected a name of at most 64 letters, digits, '_', '.' and '-'", r.Label, s.Name)
		case slices.Contains(inputs, s.Name):
			return fmt.Errorf("rule %s: the name %s is taken twice", r.Label, s.Name)
		case math.IsNaN(s.Init) || math.IsInf(s.Init, 0):
			return fmt.Errorf("rule %s: slot %s begins at %v: expected a finite number", r.Label, s.Name, s.Init)
		}
		inputs = append(inputs, s.Name)
	}
	if n := len(r.Next.Instructions); n > maxInstructions {
		return fmt.Errorf("rule %s: %d instructions: expected at most %d", r.Label, n, maxInstructions)
	}
	if err := r.Next.Check(inputs...); err != nil {
		return fmt.Errorf("rule %s: %w", r.Label, err)
	}
	if len(r.Next.Results) != 1+len(r.States) {
		return fmt.Errorf("rule %s: %d next values: expected those of the variable and of %d slots", r.Label, len(r.Next.Results), len(r.States))
	}
	return nil
}

// Update assigns the next values. A sparse gradient is made dense.
func (r Custom) Update(a *Application) []*graph.Node {
	next := Emission{B: a.B, Scope: a.Scope, Tensor: a.kind(), Inputs: r.inputs(a)}.Emit(r.Next)
	var out []*graph.Node
	for i, x := range next {
		resource, own := a.variable(), InputVariable
		if i > 0 {
			resource, own = a.Slots[i-1], r.States[i-1].Name
		}
		if last := r.Next.Instructions[r.Next.Results[i]]; last.Op == "Input" && last.Name == own {
			continue // not changed
		}
		out = append(out, a.assign("AssignVariableOp", resource, a.full(x)))
	}
	return out
}

// inputs returns the values that the program reads, from the start of the step but after weight decay.
func (r Custom) inputs(a *Application) map[string]graph.Output {
	in := map[string]graph.Output{InputRate: a.Exact, InputStep: a.Step, InputGradient: a.Grad.Output}
	if a.Grad.Sparse() {
		in[InputGradient] = lower.Densify(a.B, a.Scope, lower.SparseValue(a.kind().Shape, lower.Slices{Rows: a.Grad.Output, Indices: a.Grad.Indices}))
	}
	in[InputVariable] = a.B.Read(a.variable(), a.kind(), a.Decayed...)
	for i, s := range r.States {
		in[s.Name] = a.slot(i)
	}
	return in
}

// full gives x the variable's type and shape.
func (a *Application) full(x graph.Output) graph.Output {
	if x = a.cast(x); !x.Valid() || x.Shape().Rank() == len(a.V.Shape) {
		return x
	}
	return a.binary("AddV2", a.unary("ZerosLike", a.value()), x)
}
