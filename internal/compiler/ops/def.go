package ops

import (
	"slices"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// Def is the definition of an op.
type Def struct {
	Name      string
	State     State
	Shape     ShapeRule
	Precision Precision
	Element   Element

	Onnx    string // ONNX's operator with the same inputs and meaning, "" for none
	Heavy   bool   // worth compiling even where sizes are not known before a run
	Grows   bool   // the result may be much larger than the inputs; its size depends on their values
	Opaque  bool   // accepts resources and lists as well as tensors
	Lists   bool   // accepts lists of tensors as well as tensors
	ByShape bool   // reads the shape of its input, not the elements

	text   string   // the signature
	attrs  []string // as text
	parsed func() *signature
}

// State says what an op depends on or changes apart from its inputs.
type State uint8

// The states.
const (
	Pure    State = iota // nothing: equal inputs give equal results
	Random               // random numbers
	Fed                  // a value that is fed
	Handle               // makes a handle of a variable, table or another resource
	Reads                // reads variables, tables or files
	Writes               // updates variables or tables
	Effects              // other effects: messages, files, calls
	Queues               // queues, datasets, iterators and files, which outlive a step or make steps wait; served models have none
)

// ShapeRule says how the shape of an op's result follows from its inputs.
type ShapeRule uint8

// The shape rules.
const (
	OwnShape  ShapeRule = iota // a rule of the op's own, or none
	SameShape                  // the first input's shape
	Broadcast                  // the two inputs' shapes under NumPy's broadcasting
)

// Precision says how mixed precision treats an op, after TensorFlow's auto_mixed_precision.
type Precision uint8

// The classes of precision.
const (
	FullPrecision Precision = iota // works in float32
	Multiplies                     // products: works on bfloat16
	Follows                        // works on bfloat16 where an operand has it and the result leads to a product
	SumsUp                         // reads bfloat16 where the device can, and gives float32
)

// Element is an elementwise op's function of one element, written once for the host and once for accelerators.
type Element struct {
	Float func(x float64) float64 // the function of one float, nil if the op has host kernels of its own
	// CUDA is the expression in CUDA C++, where %1, %2 and %3 are the inputs' elements and %a the attribute alpha; "" for none.
	CUDA  string
	Kinds string // the element types of the first input that CUDA takes: f floats, i integers, b bool
	// CUDAInts is the expression for int32 and int64 where it differs from CUDA: it records faults.
	CUDAInts string
	Libm     string // the function of C's math library that CUDA calls, "" for none
}

// Role says what a compiler must know about an input.
type Role uint8

// The roles.
const (
	RoleValue    Role = iota // nothing
	RoleConstant             // the value, the same for all batches: "const"
	RoleSize                 // nothing: the size of the result says it, and to infer that size the value must be known: "size"
	RoleUnread               // nothing, as the shape of the result says it: "unread"
)

// Arg is an input or an output.
type Arg struct {
	Name     string
	TypeAttr string       // the attribute that states the element type, "" if Type does
	Type     tensor.DType // where TypeAttr is ""
	Count    string       // the integer attribute that says how many tensors, "" for one
	List     bool         // TypeAttr is a list with a type for each tensor
	Ref      bool         // a reference variable
	Role     Role
}

// Several reports whether the argument may be any number of tensors.
func (a Arg) Several() bool { return a.Count != "" || a.List }

// Resource reports whether the argument is a resource or a reference variable rather than a tensor.
func (a Arg) Resource() bool {
	return a.Ref || a.TypeAttr == "" && (a.Type == tensor.Resource || a.Type == tensor.Variant)
}

// Attr is an attribute.
type Attr struct {
	Name    string
	Kind    string         // as in TensorFlow's definitions: type, int, float, bool, string, shape, tensor, func, list(int), ...
	Types   []tensor.DType // the element types that a type may be, nil for any
	Values  []string       // the strings that a string may be, nil for any
	Default string         // as text, "" if the attribute is required
}

// Inputs returns the inputs in order.
func (d *Def) Inputs() []Arg { return d.parsed().in }

// Outputs returns the outputs in order.
func (d *Def) Outputs() []Arg { return d.parsed().out }

// Attrs returns the attributes, without counts and type attributes of any type that have no default.
func (d *Def) Attrs() []Attr { return d.parsed().attrs }

// DefaultType returns the default of a type attribute, Invalid for none.
func (d *Def) DefaultType(attr string) tensor.DType {
	for _, a := range d.Attrs() {
		if a.Name == attr && a.Kind == "type" {
			t, _ := tensor.ParseDType(a.Default)
			return t
		}
	}
	return tensor.Invalid
}

// Signature returns inputs and outputs as text.
func (d *Def) Signature() string { return d.text }

// InputAt returns the input that operand k of n belongs to.
func (d *Def) InputAt(k, n int) Arg { return argAt(d.Inputs(), k, n) }

// OutputAt returns the output that result k of n belongs to.
func (d *Def) OutputAt(k, n int) Arg { return argAt(d.Outputs(), k, n) }

// argAt assumes that at most one argument is several tensors. Nobody asks for arguments of ops with more.
func argAt(args []Arg, k, n int) Arg {
	if i := slices.IndexFunc(args, Arg.Several); i >= 0 && k >= i {
		k = max(k+len(args)-n, i)
	}
	if k < 0 || k >= len(args) {
		return Arg{}
	}
	return args[k]
}

// With returns the numbers of the inputs that have one of the roles.
func (d *Def) With(roles ...Role) (at []int) {
	for i, a := range d.Inputs() {
		if slices.Contains(roles, a.Role) {
			at = append(at, i)
		}
	}
	return at
}

// Input returns the number of the input of that name, -1 for none.
func (d *Def) Input(name string) int {
	return slices.IndexFunc(d.Inputs(), func(a Arg) bool { return a.Name == name })
}

// OnResource returns the op that updates a resource variable as d updates a reference variable, nil if there is none.
func (d *Def) OnResource() *Def {
	in, out := d.Inputs(), d.Outputs()
	if len(in) == 0 || len(out) != 1 || !in[0].Ref || in[0].Name != "ref" || !out[0].Ref { // optimizers' rules have several variables
		return nil
	}
	if on := Find(d.Name + "VariableOp"); on != nil {
		return on
	}
	return Find("Resource" + d.Name)
}

// Arity returns the number of inputs of a node, -1 if it depends on the node's attributes.
func (d *Def) Arity() int { return arity(d.Inputs()) }

// Results returns the number of outputs of a node, -1 if it depends on the node's attributes.
func (d *Def) Results() int { return arity(d.Outputs()) }

func arity(args []Arg) int {
	if slices.ContainsFunc(args, Arg.Several) {
		return -1
	}
	return len(args)
}

// define adds the op of a signature to the registry. Attributes are "name: kind = default".
func define(text string, attrs ...string) *Def {
	d := &Def{text: text, attrs: attrs}
	d.Name = nameOf(text)
	d.parsed = sync.OnceValue(d.parse)
	register(d)
	return d
}
