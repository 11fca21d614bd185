package onnx

import "github.com/goestimator/goestimator/tensor"

// The versions that are written, for the format and the operators.
const (
	IRVersion = 8
	Opset     = 17
)

// File is the name of a model's file in its folder. Weights may be in files beside it.
const File = "model.onnx"

// Model is a model with one graph.
type Model struct {
	IR        int // the version of the format; 0: IRVersion
	Producer  string
	Opsets    map[string]int // operator versions by domain; nil: Opset for the default domain
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
	Known        []Value // declared types of other values
	Initializers []Initializer
	Sparse       []string // names of sparse initializers; their elements are not read
}

// Node is an operator. Values are identified by name; "" in Inputs leaves out an optional one. Attributes are int, []int,
// float32, []float32, string, []string, *tensor.Tensor, *Graph and, if they were read, also AttrRef and Unread.
type Node struct {
	Domain  string // "" or "ai.onnx": the default one
	Op      string
	Name    string
	Inputs  []string
	Outputs []string
	Attrs   map[string]any
}

// AttrRef is an attribute of a node in a function that takes its value from the function's attribute with that name.
type AttrRef string

// Unread is an attribute whose kind is not read: the format's name of the kind.
type Unread string

// Function is an operator that the model defines.
type Function struct {
	Domain, Name    string
	Inputs, Outputs []string
	Attrs           []string       // names of attributes without a default
	Defaults        map[string]any // attributes with a default
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
	// Kind is "sequence", "map", "optional" or "optional sequence" if the value is no tensor. DType and shape are then those of its tensors.
	Kind string
}

// Dim is a dimension: a size, or a symbol; with neither it is unknown.
type Dim struct {
	Size   int
	Symbol string // not "": the size varies, but is the same for each use of the symbol
}

// Initializer is a constant.
type Initializer struct {
	Name   string
	Tensor *tensor.Tensor
}
