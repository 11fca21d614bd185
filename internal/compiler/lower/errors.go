package lower

import (
	"errors"
	"fmt"

	G "gorgonia.org/gorgonia"
)

// RefusedError says that an op of Gorgonia computes something wrong, or
// something that cannot be reproduced, in the version that this module requires.
type RefusedError struct {
	Op      string // Gorgonia's function that makes the op: "Dropout"
	Node    string // the node, as Gorgonia names it
	Reason  string // what is wrong
	Instead string // what to use instead
}

// Error describes the refusal.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("gorgonia %s (node %s) is refused: %s; use %s", e.Op, e.Node, e.Reason, e.Instead)
}

// UnsupportedError says that an op has no form in the intermediate representation.
type UnsupportedError struct {
	Op     string // the op's Go type and its printed form
	Node   string
	Reason string // "" if the op is unknown
}

// Error describes what is missing.
func (e *UnsupportedError) Error() string {
	reason := e.Reason
	if reason == "" {
		reason = "it is no op that goestimator knows"
	}
	return fmt.Sprintf("op %s (node %s) cannot be trained or exported: %s; use an op of models/ops, or implement lower.Op", e.Op, e.Node, reason)
}

// LeafError says that a leaf of the graph is neither fed nor a variable.
type LeafError struct{ Node string }

// Error describes what to do.
func (e *LeafError) Error() string {
	return fmt.Sprintf("node %q is neither a variable nor a feature, so nothing gives it a value: make it with mc.Variable, or take it from the features or labels", e.Node)
}

// errVirtual marks the use of a node that exists only as part of a pattern.
var errVirtual = errors.New("value exists only inside a convolution")

func refuse(n *G.Node, op, reason, instead string) error {
	return &RefusedError{Op: op, Node: describe(n), Reason: reason, Instead: instead}
}

func unsupported(n *G.Node, reason string) error {
	return &UnsupportedError{Op: fmt.Sprintf("%T %v", n.Op(), n.Op()), Node: describe(n), Reason: reason}
}

// describe names a node: Gorgonia's name, its id (%0, %1, ... in its listings) and shape.
func describe(n *G.Node) string {
	return fmt.Sprintf("%s #%d %v", n.Name(), n.ID(), n.Shape())
}
