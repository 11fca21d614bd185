package stablehlo

import "github.com/goestimator/goestimator/tensor"

// Module is a program: functions that call each other.
type Module struct {
	Producer  string // the program that wrote it, such as StableHLO_v0.9.0
	Functions []*Function
}

// Function is a function of a module. Its results are the operands of its last operation, return.
type Function struct {
	Name string
	Body *Region
}

// Region is a sequence of operations. The last one, return, ends it.
type Region struct {
	Args []*Value
	Ops  []*Op
}

// Value is an argument of a region or a result of an operation.
type Value struct{ Type Type }

// Op is an operation.
type Op struct {
	Name     string // without dialect and version: "add"
	Version  int
	Dialect  string // "vhlo", unless the program uses another dialect
	Operands []*Value
	Results  []*Value
	Attrs    map[string]any // see Read
	Regions  []*Region
}

// Type is the type of a value, or of a type attribute.
type Type struct {
	Kind  Kind
	Name  string       // of the element type: "f32", "si4"
	DType tensor.DType // the element type of a tensor, Invalid if goestimator does not have it
	Dims  []int        // the sizes of a tensor, -1 if they are known only at run time
}

// Kind is the kind of a type.
type Kind uint8

// The kinds of types.
const (
	Other   Kind = iota // functions, tuples and more
	Element             // an element type
	Tensor
	Token
)

// Constant is an attribute that is a tensor. A splat has the bytes of one element, which all elements share.
type Constant struct {
	Type  Type
	Bytes []byte // the elements, row-major and little-endian, one byte each for bools
	Splat bool
}

// Enum is an attribute with one of several names, such as "GE".
type Enum string
