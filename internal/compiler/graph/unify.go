package graph

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// BatchError says which part of a graph differs between two batch sizes in a way
// that Unify cannot describe for all batch sizes.
type BatchError struct {
	Op, Node string
	What     string // "dimension 1 of output 0", "attribute strides", ...
	A, B     string // the values at the two batch sizes
	Reason   string // what was expected, and what to do
}

// Error describes the disagreement.
func (e *BatchError) Error() string {
	return fmt.Sprintf("op %s (node %s): %s is %s at one batch size and %s at another: %s", e.Op, e.Node, e.What, e.A, e.B, e.Reason)
}

// Unify turns two builds of one model, with batchA and batchB rows, into one
// graph for any batch. Both must have the same nodes in the same order. A
// dimension that differs becomes PerBatch·B + Const, where it is linear in the
// batch with PerBatch > 0 and Const >= 0; the target of a Reshape becomes -1
// where it differs. Any other difference is a *BatchError that names the node.
//
// The arguments stay as they are; the result's nodes have the same names and positions.
func Unify(a *Graph, batchA int, b *Graph, batchB int) (*Graph, error) {
	if batchA == batchB || batchA < 1 || batchB < 1 {
		return nil, fmt.Errorf("unify: batches %d and %d: expected two different sizes >= 1", batchA, batchB)
	}
	u := &unifier{a: a, b: b, batchA: batchA, batchB: batchB, indexA: positions(a), indexB: positions(b), users: map[*Node][]use{}}
	if err := u.sameNodes(); err != nil {
		return nil, err
	}
	out := Clone(a)
	for i, n := range a.nodes {
		for j, in := range n.Inputs {
			u.users[in.Node] = append(u.users[in.Node], use{n, j})
		}
		if err := u.edges(n, b.nodes[i]); err != nil {
			return nil, err
		}
	}
	for i, n := range out.nodes {
		if err := u.node(n, a.nodes[i], b.nodes[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type use struct {
	node  *Node
	input int
}

type unifier struct {
	a, b           *Graph
	batchA, batchB int
	indexA, indexB map[*Node]int
	users          map[*Node][]use // of a's nodes
}

func positions(g *Graph) map[*Node]int {
	m := make(map[*Node]int, len(g.nodes))
	for i, n := range g.nodes {
		m[n] = i
	}
	return m
}

const oneModel = "expected the same ops whatever the batch; do not let the model_fn branch on the batch size"

func (u *unifier) sameNodes() error {
	for i := range min(len(u.a.nodes), len(u.b.nodes)) {
		x, y := u.a.nodes[i], u.b.nodes[i]
		if x.Op != y.Op || x.Name != y.Name || x.Device != y.Device {
			return &BatchError{Op: x.Op, Node: x.Name, What: fmt.Sprintf("node %d", i), A: x.Op + " " + x.Name, B: y.Op + " " + y.Name, Reason: oneModel}
		}
	}
	if len(u.a.nodes) != len(u.b.nodes) {
		longer := u.a.nodes
		if len(u.b.nodes) > len(longer) {
			longer = u.b.nodes
		}
		n := longer[min(len(u.a.nodes), len(u.b.nodes))]
		return &BatchError{Op: n.Op, Node: n.Name, What: "the number of nodes", A: fmt.Sprint(len(u.a.nodes)), B: fmt.Sprint(len(u.b.nodes)), Reason: oneModel}
	}
	return nil
}

// edges checks that two nodes have the same operands and control inputs.
func (u *unifier) edges(x, y *Node) error {
	same := len(x.Inputs) == len(y.Inputs) && len(x.Control) == len(y.Control)
	for i := 0; same && i < len(x.Inputs); i++ {
		same = u.indexA[x.Inputs[i].Node] == u.indexB[y.Inputs[i].Node] && x.Inputs[i].Index == y.Inputs[i].Index
	}
	for i := 0; same && i < len(x.Control); i++ {
		same = u.indexA[x.Control[i]] == u.indexB[y.Control[i]]
	}
	if !same {
		return &BatchError{Op: x.Op, Node: x.Name, What: "the operands", A: fmt.Sprint(x.Inputs), B: fmt.Sprint(y.Inputs), Reason: oneModel}
	}
	return nil
}

// node unifies the types and attributes of x and y into n.
func (u *unifier) node(n, x, y *Node) error {
	if len(x.Outputs) != len(y.Outputs) {
		return &BatchError{Op: x.Op, Node: x.Name, What: "the number of outputs", A: fmt.Sprint(len(x.Outputs)), B: fmt.Sprint(len(y.Outputs)), Reason: oneModel}
	}
	for i := range x.Outputs {
		if x.Outputs[i].DType != y.Outputs[i].DType {
			return &BatchError{Op: x.Op, Node: x.Name, What: fmt.Sprintf("the type of output %d", i),
				A: x.Outputs[i].DType.String(), B: y.Outputs[i].DType.String(), Reason: oneModel}
		}
		s, err := u.shape(x, fmt.Sprintf("output %d", i), x.Outputs[i].Shape, y.Outputs[i].Shape)
		if err != nil {
			return err
		}
		n.Outputs[i].Shape = s
	}
	return u.attrs(n, x, y)
}

func (u *unifier) shape(n *Node, what string, x, y Shape) (Shape, error) {
	if x.Equal(y) {
		return x, nil
	}
	if x.UnknownRank || y.UnknownRank || len(x.Dims) != len(y.Dims) {
		return x, &BatchError{Op: n.Op, Node: n.Name, What: "the rank of " + what, A: x.String(), B: y.String(), Reason: oneModel}
	}
	out := Shape{Dims: slices.Clone(x.Dims)}
	for i := range out.Dims {
		d, reason := u.dim(x.Dims[i], y.Dims[i])
		if reason != "" {
			return x, &BatchError{Op: n.Op, Node: n.Name, What: fmt.Sprintf("dimension %d of %s", i, what),
				A: x.Dims[i].String(), B: y.Dims[i].String(), Reason: reason}
		}
		out.Dims[i] = d
	}
	return out, nil
}

// dim fits a line through two sizes; reason says why there is none.
func (u *unifier) dim(x, y Dim) (d Dim, reason string) {
	if x == y {
		return x, ""
	}
	const expected = "expected a fixed size, or a multiple of the batch plus a constant >= 0; use ops that keep dimension 0"
	if !x.Static() || !y.Static() {
		return x, expected
	}
	dy, db := y.Const-x.Const, u.batchB-u.batchA
	if dy%db != 0 {
		return x, expected
	}
	d = Dim{PerBatch: dy / db, Const: x.Const - dy/db*u.batchA}
	if d.PerBatch <= 0 || d.Const < 0 {
		return x, fmt.Sprintf("%s (through both sizes goes %v)", expected, d)
	}
	return d, ""
}

func (u *unifier) attrs(n, x, y *Node) error {
	for name := range y.Attrs {
		if _, ok := x.Attrs[name]; !ok {
			return &BatchError{Op: x.Op, Node: x.Name, What: "attribute " + name, A: "absent", B: fmt.Sprint(y.Attrs[name]), Reason: oneModel}
		}
	}
	for name, v := range x.Attrs {
		w := y.Attrs[name]
		switch s := v.(type) {
		case Shape:
			if t, ok := w.(Shape); ok {
				shape, err := u.shape(x, "attribute "+name, s, t)
				if err != nil {
					return err
				}
				n.Attrs[name] = shape
				continue
			}
		case *tensor.Tensor:
			if t, ok := w.(*tensor.Tensor); ok {
				tensor, err := u.tensor(x, name, s, t)
				if err != nil {
					return err
				}
				n.Attrs[name] = tensor
				continue
			}
		}
		if !reflect.DeepEqual(v, w) {
			return &BatchError{Op: x.Op, Node: x.Name, What: "attribute " + name, A: fmt.Sprint(v), B: fmt.Sprint(w),
				Reason: "expected an attribute that does not depend on the batch; use an op that reads the size at run time"}
		}
	}
	return nil
}

// tensor unifies constants. Constants that differ must be targets of Reshape.
func (u *unifier) tensor(n *Node, name string, x, y *tensor.Tensor) (*tensor.Tensor, error) {
	if reflect.DeepEqual(x, y) {
		return x, nil
	}
	const reason = "the constant depends on the batch size; use an op that reads the size at run time (Mean, Shape, Reshape with -1)"
	fail := &BatchError{Op: n.Op, Node: n.Name, What: "the value", A: brief(x), B: brief(y), Reason: reason}
	if n.Op != "Const" || name != "value" || !slices.Equal(x.Shape, y.Shape) || x.DType != y.DType {
		return nil, fail
	}
	for _, by := range u.users[n] {
		if by.node.Op != "Reshape" || by.input != 1 {
			fail.Reason = fmt.Sprintf("%s; it is operand %d of %s (%s)", reason, by.input, by.node.Name, by.node.Op)
			return nil, fail
		}
	}
	var ok bool
	out := x.Clone()
	switch x.DType {
	case tensor.Int32:
		ok = inferOne(tensor.Values[int32](out), tensor.Values[int32](y))
	case tensor.Int64:
		ok = inferOne(tensor.Values[int64](out), tensor.Values[int64](y))
	}
	if !ok {
		fail.Reason = "expected at most one dimension of the shape to depend on the batch; reshape in steps, or keep dimension 0"
		return nil, fail
	}
	return out, nil
}

// inferOne sets the one element of x that differs from y to -1.
func inferOne[T int32 | int64](x, y []T) bool {
	n := 0
	for i := range x {
		switch {
		case x[i] == -1:
			n++
		case x[i] != y[i]:
			x[i] = -1
			n++
		}
	}
	return n == 1
}

// brief prints a small numeric tensor's elements, else its type and shape.
func brief(t *tensor.Tensor) string {
	if t.Len() <= 8 {
		switch t.DType {
		case tensor.Int32:
			return fmt.Sprint(tensor.Values[int32](t))
		case tensor.Int64:
			return fmt.Sprint(tensor.Values[int64](t))
		case tensor.Float32:
			return fmt.Sprint(tensor.Values[float32](t))
		case tensor.Float64:
			return fmt.Sprint(tensor.Values[float64](t))
		}
	}
	return fmt.Sprintf("%v%v", t.DType, t.Shape)
}
