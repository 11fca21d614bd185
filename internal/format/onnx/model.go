package onnx

import "github.com/goestimator/goestimator/tensor"

// The versions that are written: of the format, and of the operators.
const (
	IRVersion = 8
	Opset     = 17
)

// File is the name of a model's file in its folder; weights may be in files beside it.
const File = "model.onnx"

// Model is a model of one graph.
type Model struct {
	IR        int // the version of the format; 0: IRVersion
	Producer  string
	Opsets    map[string]int // versions of the operators, by domain; nil: Opset of the default domain
	Graph     Graph
	Functions []Function
	Metadata  map[string]string
}

// Graph is a list of nodes in an order in which they can run.
type Graph struct {
	Name         string
	Nodes        []Node
	Inputs       []Value
	Outputs      []Value
	Known        []Value // what is said of other values
	Initializers []Initializer
	Sparse       []string // names of sparse initializers, whose elements are not read
}

// Node is an operator. Values are known by name; "" in Inputs leaves an optional one out. Attributes are int, []int,
// float32, []float32, string, []string, *tensor.Tensor, *Graph, and where they were read besides AttrRef and Unread.
type Node struct {
	Domain  string // "" or "ai.onnx": the default one
	Op      string
	Name    string
	Inputs  []string
	Outputs []string
	Attrs   map[string]any
}

// AttrRef is an attribute of a function's node that has the value of the function's attribute of that name.
type AttrRef string

// Unread is an attribute of a kind that is not read: the kind's name in the format.
type Unread string

// Function is an operator that a model brings along.
type Function struct {
	Domain, Name    string
	Inputs, Outputs []string
	Attrs           []string       // names of attributes that have no default
	Defaults        map[string]any // of those that have one
	Nodes           []Node
	Opsets          map[string]int
}

// Value is an input or output of the graph.
type Value struct {
	Name  string
	DType tensor.DType
	Dims  []Dim
	// Unranked leaves the shape open.
	Unranked bool
	// Kind is "sequence", "map", "optional" or "optional sequence" where the value is no tensor; DType and the shape are those of its tensors then.
	Kind string
}

// Dim is a dimension: a size, or a symbol, or with neither unknown.
type Dim struct {
	Size   int
	Symbol string // not "": the size varies, and is equal wherever the symbol is
}

// Initializer is a constant.
type Initializer struct {
	Name   string
	Tensor *tensor.Tensor
}
