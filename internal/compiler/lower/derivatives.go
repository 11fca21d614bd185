package lower

import (
	"reflect"
	"unsafe"

	G "gorgonia.org/gorgonia"
)

// SetAsideDerivatives lets a graph be differentiated a second time: Gorgonia keeps
// a first loss's derivative in each node and would use it for a second loss. The
// function returned restores the derivatives of nodes that have not got a new one.
func SetAsideDerivatives(g *G.ExprGraph) (restore func()) {
	first := map[*G.Node]*G.Node{}
	for _, n := range g.AllNodes() {
		if d := n.Deriv(); d != nil {
			first[n] = d
			setDerivative(n, nil)
		}
	}
	return func() {
		for n, d := range first {
			if n.Deriv() == nil {
				setDerivative(n, d)
			}
		}
	}
}

// setDerivative writes a field that Gorgonia sets but does not clear.
func setDerivative(n, d *G.Node) {
	field := reflect.ValueOf(n).Elem().FieldByName("deriv")
	*(**G.Node)(unsafe.Pointer(field.UnsafeAddr())) = d
}
