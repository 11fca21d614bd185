package graph

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Type is what one output of a node carries.
type Type struct {
	DType tensor.DType
	Shape Shape
}

// TypeOf returns a type of fixed dimensions.
func TypeOf(d tensor.DType, dims ...int) Type { return Type{DType: d, Shape: ShapeOf(dims...)} }

// Output names one output of a node. The zero Output is no value.
type Output struct {
	Node  *Node
	Index int
}

// Type returns the output's element type and shape.
func (o Output) Type() Type { return o.Node.Outputs[o.Index] }

// DType returns the output's element type.
func (o Output) DType() tensor.DType { return o.Type().DType }

// Shape returns the output's shape.
func (o Output) Shape() Shape { return o.Type().Shape }

// Valid reports whether o names an output.
func (o Output) Valid() bool { return o.Node != nil }

// String returns the TensorFlow tensor name, "node:index".
func (o Output) String() string {
	if o.Node == nil {
		return "<none>"
	}
	return fmt.Sprintf("%s:%d", o.Node.Name, o.Index)
}

// Attrs are a node's attributes by name. A value is one of: int64, float32,
// bool, []byte (a string), DType, Shape, *Tensor, Func, or a list of one of
// them ([]int64, []float32, []bool, [][]byte, []DType, []Shape, []*Tensor,
// []Func), EmptyList, or PlaceholderAttr.
type Attrs map[string]any

// EmptyList is the attribute value of an empty list of any kind.
type EmptyList struct{}

// PlaceholderAttr names an attribute of the enclosing function (GraphDef's AttrValue.placeholder).
type PlaceholderAttr string

// Func is an attribute that names a function of the graph's library.
type Func struct {
	Name  string
	Attrs Attrs
}

// Node is one operation. Op and attribute names are TensorFlow's.
type Node struct {
	Name    string
	Op      string
	Device  string // TensorFlow device string, "" to leave it to placement
	Inputs  []Output
	Control []*Node // must have run before
	Attrs   Attrs
	Outputs []Type
}

// Out returns output i of n.
func (n *Node) Out(i int) Output { return Output{n, i} }

// Int returns an integer attribute, or def if it is absent.
func (n *Node) Int(name string, def int) int {
	if v, ok := n.Attrs[name].(int64); ok {
		return int(v)
	}
	return def
}

// Bool returns a boolean attribute, false if it is absent.
func (n *Node) Bool(name string) bool { v, _ := n.Attrs[name].(bool); return v }

// Float returns a float attribute, or def if it is absent.
func (n *Node) Float(name string, def float32) float32 {
	if v, ok := n.Attrs[name].(float32); ok {
		return v
	}
	return def
}

// Str returns a string attribute, "" if it is absent.
func (n *Node) Str(name string) string { v, _ := n.Attrs[name].([]byte); return string(v) }

// Ints returns an integer-list attribute.
func (n *Node) Ints(name string) []int64 { v, _ := n.Attrs[name].([]int64); return v }

// ErrDuplicate is returned when a node's name is taken.
var ErrDuplicate = errors.New("duplicate node name")

// Graph is an ordered collection of nodes with unique names. Nodes added by
// Builder come after their inputs. It is not safe for concurrent changes.
type Graph struct {
	nodes  []*Node
	byName map[string]*Node
	next   map[string]int // by name: lower suffixes are taken

	// Library holds the functions of an imported graph as a serialized
	// tensorflow.FunctionDefLibrary; it is carried along, not interpreted.
	Library []byte
	// Extra is a serialized tensorflow.GraphDef with the rest of an imported graph
	// outside of its nodes (bad consumers, debug info); it is carried along too.
	Extra []byte
	// Producer and MinConsumer are the GraphDef's versions.
	Producer, MinConsumer int32
}

// New returns an empty graph.
func New() *Graph { return &Graph{byName: map[string]*Node{}} }

// Add appends n. It fails with ErrDuplicate if n's name is taken.
func (g *Graph) Add(n *Node) error {
	if n.Name == "" || n.Op == "" {
		return fmt.Errorf("node %q with op %q: expected both a name and an op", n.Name, n.Op)
	}
	if _, ok := g.byName[n.Name]; ok {
		return fmt.Errorf("%w %q", ErrDuplicate, n.Name)
	}
	g.nodes = append(g.nodes, n)
	g.byName[n.Name] = n
	return nil
}

// Nodes returns the nodes in the order of their addition; do not modify the slice.
func (g *Graph) Nodes() []*Node { return g.nodes }

// Node returns the node of that name, or nil.
func (g *Graph) Node(name string) *Node { return g.byName[name] }

// UniqueName returns name, or name_1, name_2, ... if it is taken.
func (g *Graph) UniqueName(name string) string {
	if g.byName[name] == nil {
		return name
	}
	if g.next == nil {
		g.next = map[string]int{}
	}
	for i := max(g.next[name], 1); ; i++ {
		if c := fmt.Sprintf("%s_%d", name, i); g.byName[c] == nil {
			g.next[name] = i
			return c
		}
	}
}
