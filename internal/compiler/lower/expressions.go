package lower

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	G "gorgonia.org/gorgonia"
)

// Options say how expressions are lowered.
type Options struct {
	Seed       int64        // graph-level seed, for ops that draw random numbers
	GlobalStep graph.Output // int64 scalar; may be invalid if no op needs it
	// NameOf suggests a node's name, scopes included, "" for none. An Op gets it
	// as Emitter.Name. A built-in op's nodes get it as their scope; the default
	// scope is "gradients" for nodes that Grad made. Nil suggests nothing.
	NameOf func(*G.Node) string
	// Made, if not nil, is called with the nodes that an expression became.
	Made func(from *G.Node, nodes []*graph.Node)
}

// lowering is the state of one call of Expressions.
type lowering struct {
	*graph.Builder
	o      Options
	leaves map[*G.Node]graph.Output
	memo   map[*G.Node][]Value
	kids   map[*G.Node][]*G.Node

	// untiled maps the result of a broadcasting repeat to the repeated value.
	// Elementwise ops broadcast by themselves and take that value instead.
	untiled map[graph.Output]graph.Output
	// sizes maps a float count of elements to the int32 scalar it was cast from.
	sizes map[graph.Output]graph.Output
	// virtual holds nodes without a value of their own: the columns of a convolution.
	virtual map[*G.Node]bool
}

// Expressions adds the expressions that end in roots to b and returns the value
// of each root, in order. Leaves gives the values of inputs and variables (and
// may cut the graph at any other node). Shapes are the shapes of the Gorgonia nodes,
// hence fixed; graph.Unify finds the dimensions that depend on the batch.
//
// The same graph always gives the same nodes in the same order. Errors are
// *RefusedError, *UnsupportedError and *LeafError, or errors of an Op, wrapped
// with the node's name.
func Expressions(b *graph.Builder, o Options, roots []*G.Node, leaves map[*G.Node]graph.Output) ([]Value, error) {
	l := &lowering{Builder: b, o: o, leaves: leaves, memo: map[*G.Node][]Value{}, kids: map[*G.Node][]*G.Node{},
		untiled: map[graph.Output]graph.Output{}, sizes: map[graph.Output]graph.Output{}, virtual: map[*G.Node]bool{}}
	out := make([]Value, len(roots))
	if err := checkGraphs(roots); err != nil {
		return nil, err
	}
	for i, r := range roots {
		if err := l.walk(r); err != nil {
			return nil, err
		}
		if l.virtual[r] {
			return nil, unsupported(r, errVirtual.Error())
		}
		out[i] = l.memo[r][0]
	}
	if err := b.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// checkGraphs applies Check to the graph of each root.
func checkGraphs(roots []*G.Node) error {
	seen := map[*G.ExprGraph]bool{nil: true}
	for i, r := range roots {
		if r == nil {
			return fmt.Errorf("lower: root %d is nil: expected a node", i)
		}
		if g := r.Graph(); !seen[g] {
			seen[g] = true
			if err := Check(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// walk lowers root and all that it needs, without recursion: unrolled sequences
// make very deep graphs.
func (l *lowering) walk(root *G.Node) error {
	type frame struct {
		n    *G.Node
		next int
	}
	stack := []frame{{n: root}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if _, done := l.memo[f.n]; done {
			stack = stack[:len(stack)-1]
			continue
		}
		kids := l.children(f.n)
		if f.next < len(kids) {
			f.next++
			stack = append(stack, frame{n: kids[f.next-1]})
			continue
		}
		if err := l.lower(f.n); err != nil {
			return err
		}
		stack = stack[:len(stack)-1]
	}
	return nil
}

// children returns a node's operands in order; a leaf, or a node that leaves cuts off, has none.
func (l *lowering) children(n *G.Node) []*G.Node {
	if k, ok := l.kids[n]; ok {
		return k
	}
	var kids []*G.Node
	if _, cut := l.leaves[n]; !cut && n.Op() != nil {
		kids = childrenOf(n)
	}
	l.kids[n] = kids
	return kids
}

// childrenOf reads a node's own list of operands.
//
// Graph.From finds the node by an index that goes stale when Grad removes
// nodes, and may then return another node's operands.
func childrenOf(n *G.Node) []*G.Node {
	list := reflect.ValueOf(n).Elem().FieldByName("children")
	out := make([]*G.Node, list.Len())
	for i := range out {
		out[i] = (*G.Node)(list.Index(i).UnsafePointer())
	}
	return out
}

// lower lowers one node whose operands are done.
func (l *lowering) lower(n *G.Node) error {
	before := len(l.Graph.Nodes())
	values, err := l.values(n)
	if err != nil {
		var refused *RefusedError
		var unknown *UnsupportedError
		var leaf *LeafError
		if errors.As(err, &refused) || errors.As(err, &unknown) || errors.As(err, &leaf) {
			return err
		}
		return fmt.Errorf("lower %s: %w", describe(n), err)
	}
	if err := l.Err(); err != nil {
		return fmt.Errorf("lower %s: %w", describe(n), err)
	}
	if l.o.Made != nil {
		l.o.Made(n, l.Graph.Nodes()[before:])
	}
	l.memo[n] = values
	if l.virtual[n] {
		return nil
	}
	return check(n, values)
}

// check compares an op's first value with what Gorgonia expects of the node.
func check(n *G.Node, values []Value) error {
	if len(values) == 0 || !values[0].Valid() {
		return fmt.Errorf("lower %s: op %T gave no value", describe(n), n.Op())
	}
	want, err := typeOf(n)
	if err != nil {
		return err
	}
	v := values[0]
	if v.DType() != want.DType || !v.Shape().Equal(want.Shape) {
		return fmt.Errorf("lower %s: op %T gave %v %v: expected %v %v", describe(n), n.Op(), v.DType(), v.Shape(), want.DType, want.Shape)
	}
	return nil
}

// values dispatches on the kind of node n.
func (l *lowering) values(n *G.Node) ([]Value, error) {
	if out, ok := l.leaves[n]; ok {
		if !out.Valid() {
			return nil, &LeafError{n.Name()}
		}
		if want := graph.ShapeOf(n.Shape()...); !out.Shape().Equal(want) {
			return nil, fmt.Errorf("its value %v has shape %v: expected the build-time shape %v", out, out.Shape(), want)
		}
		return []Value{{Output: out}}, nil
	}
	if n.Op() == nil {
		return nil, &LeafError{n.Name()}
	}
	t, err := typeOf(n)
	if err != nil {
		return nil, err
	}
	kids := l.kids[n]
	if s, ok := n.Op().(Selector); ok {
		return l.pick(n, kids, s.OutputIndex())
	}
	if op, ok := n.Op().(Op); ok {
		in, err := l.operands(n)
		if err != nil {
			return nil, err
		}
		for i := range in {
			in[i] = Value{Output: l.Dense(l.scopeOf(n), in[i])}
		}
		return op.Lower(&Emitter{Builder: l.Builder, Name: l.nameOf(n), Out: t, Seed: l.o.Seed, step: l.o.GlobalStep}, in)
	}
	v, err := l.builtin(n, t)
	return []Value{v}, err
}

// pick returns output i of a node's only operand.
func (l *lowering) pick(n *G.Node, kids []*G.Node, i int) ([]Value, error) {
	if len(kids) != 1 {
		return nil, fmt.Errorf("selector %v: %d operands: expected 1", n.Op(), len(kids))
	}
	outs := l.memo[kids[0]]
	if i < 0 || i >= len(outs) {
		return nil, fmt.Errorf("selector %v: output %d of %v, which has %d", n.Op(), i, kids[0].Op(), len(outs))
	}
	return []Value{outs[i]}, nil
}

// operands returns the first values of n's operands.
func (l *lowering) operands(n *G.Node) ([]Value, error) {
	kids := l.kids[n]
	in := make([]Value, len(kids))
	for i, k := range kids {
		if l.virtual[k] {
			return nil, unsupported(k, "its result is used outside of the convolution it belongs to")
		}
		in[i] = l.memo[k][0]
	}
	return in, nil
}

// nameOf returns the suggested name of an Op's node.
func (l *lowering) nameOf(n *G.Node) string {
	if l.o.NameOf != nil {
		if s := l.o.NameOf(n); s != "" {
			return s
		}
	}
	return typeName(n.Op())
}

// scopeOf returns the suggested scope of the nodes made for n, "" or with a slash at its end.
func (l *lowering) scopeOf(n *G.Node) string {
	if l.o.NameOf != nil {
		if s := l.o.NameOf(n); s != "" {
			return s + "/"
		}
	}
	if reflect.ValueOf(n).Elem().FieldByName("group").String() == "gradients" { // what Grad made
		return "gradients/"
	}
	return ""
}

// typeName returns the name of an op's Go type, without package and pointer.
func typeName(op G.Op) string {
	t := reflect.TypeOf(op)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
