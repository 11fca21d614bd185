package onnx

import "github.com/goestimator/goestimator/tensor"

// The versions that are written: of the format, and of the operators.
const (
	IRVersion = 8
	Opset     = 17
)

// Model is a model of one graph.
type Model struct {
	Producer string
	Graph    Graph
	Metadata map[string]string
}

// Graph is a list of nodes in an order in which they can run.
type Graph struct {
	Name         string
	Nodes        []Node
	Inputs       []Value
	Outputs      []Value
	Initializers []Initializer
}

// Node is an operator of the default domain. Values are known by name; "" in
// Inputs leaves an optional one out. Attributes are int, []int, float32, string or
// *tensor.Tensor.
type Node struct {
	Op      string
	Name    string
	Inputs  []string
	Outputs []string
	Attrs   map[string]any
}

// Value is an input or output of the graph.
type Value struct {
	Name  string
	DType tensor.DType
	Dims  []Dim
	// Unranked leaves the shape open.
	Unranked bool
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
