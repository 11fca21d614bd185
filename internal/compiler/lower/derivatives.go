package lower

import (
	"reflect"
	"unsafe"

	G "gorgonia.org/gorgonia"
)

// SetAsideDerivatives lets a graph be differentiated once more: Gorgonia keeps the
// derivative of a first loss in each node and takes it for that of a second one.
// What it returns puts those derivatives back where no other one has come.
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
