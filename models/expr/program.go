package expr

import (
	"fmt"
	"math"
	"slices"
)

// Program is a list of instructions that computes expressions. Each instruction follows its operands.
type Program struct {
	Instructions []Instruction `json:"instructions"`
	// Results are the instructions that compute the expressions passed to Trace.
	Results []int `json:"results"`
}

// Instruction computes one value.
type Instruction struct {
	// Op is "Const", "Input", "WhenLess", "Norm", or one of TensorFlow's elementwise ops.
	Op    string  `json:"op"`
	Args  []int   `json:"args,omitempty"` // earlier instructions
	Name  string  `json:"name,omitempty"` // of an Input
	Value float64 `json:"value"`          // of a Const
}

// maxInstructions bounds a Program.
const maxInstructions = 4096

// Trace returns the program that computes the expressions. A subexpression that occurs
// several times is computed once.
func Trace(results ...Expr) Program {
	t := tracer{known: map[*node]int{}}
	for _, x := range results {
		t.Results = append(t.Results, t.add(x))
	}
	return t.Program
}

type tracer struct {
	Program
	known map[*node]int
}

func (t *tracer) add(x Expr) int {
	n := x.n
	if n == nil {
		n = &node{op: opNumber}
	}
	if at, ok := t.known[n]; ok {
		return at
	}
	i := Instruction{Op: n.op, Name: n.name, Value: n.value}
	for _, a := range n.args {
		i.Args = append(i.Args, t.add(a))
	}
	t.Instructions = append(t.Instructions, i)
	t.known[n] = len(t.Instructions) - 1
	return len(t.Instructions) - 1
}

// Inputs lists the names of the inputs that the program reads, each once.
func (p Program) Inputs() []string {
	var out []string
	for _, i := range p.Instructions {
		if i.Op == opInput && !slices.Contains(out, i.Name) {
			out = append(out, i.Name)
		}
	}
	return out
}

// Bind returns the results with expressions in place of the inputs, by name. The
// program must be one that Trace made or Check accepted.
func (p Program) Bind(inputs map[string]Expr) []Expr {
	values := make([]Expr, 0, len(p.Instructions))
	for _, i := range p.Instructions {
		values = append(values, i.bind(values, inputs))
	}
	out := make([]Expr, len(p.Results))
	for i, r := range p.Results {
		out[i] = values[r]
	}
	return out
}

func (x Instruction) bind(values []Expr, inputs map[string]Expr) Expr {
	switch {
	case x.Op == opNumber:
		return Number(x.Value)
	case x.Op == opInput:
		return inputs[x.Name]
	case x.Op == opWhenLess:
		return WhenLess(values[x.Args[0]], values[x.Args[1]], values[x.Args[2]], values[x.Args[3]])
	case len(x.Args) == 1:
		return values[x.Args[0]].unary(x.Op)
	}
	return values[x.Args[0]].binary(x.Op, values[x.Args[1]])
}

// Check reports what is wrong with a program from an untrusted source: its size, an
// unknown op, an operand that does not precede its instruction, a number that is not
// finite, or an input that is not allowed.
func (p Program) Check(inputs ...string) error {
	if len(p.Instructions) > maxInstructions || len(p.Results) > maxInstructions {
		return fmt.Errorf("program of %d instructions and %d results: expected at most %d", len(p.Instructions), len(p.Results), maxInstructions)
	}
	for i, x := range p.Instructions {
		if err := x.check(i, inputs); err != nil {
			return fmt.Errorf("program: instruction %d: %w", i, err)
		}
	}
	for _, r := range p.Results {
		if r < 0 || r >= len(p.Instructions) {
			return fmt.Errorf("program: result %d of %d instructions does not exist", r, len(p.Instructions))
		}
	}
	return nil
}

func (x Instruction) check(at int, inputs []string) error {
	want := arity(x.Op)
	switch {
	case want < 0:
		return fmt.Errorf("unknown op %q", x.Op)
	case len(x.Args) != want:
		return fmt.Errorf("%s of %d operands: expected %d", x.Op, len(x.Args), want)
	case math.IsNaN(x.Value) || math.IsInf(x.Value, 0):
		return fmt.Errorf("number %v: expected a finite one", x.Value)
	case x.Op == opInput && !slices.Contains(inputs, x.Name):
		return fmt.Errorf("unknown input %q: expected one of %q", x.Name, inputs)
	}
	for _, a := range x.Args {
		if a < 0 || a >= at {
			return fmt.Errorf("operand %d of %s does not come before it", a, x.Op)
		}
	}
	return nil
}

// arity returns the number of operands of an op, -1 for an unknown op.
func arity(op string) int {
	switch {
	case op == opNumber || op == opInput:
		return 0
	case op == opWhenLess:
		return 4
	case unary[op] != nil:
		return 1
	case binary[op] != nil:
		return 2
	}
	return -1
}
