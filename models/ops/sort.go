package ops

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Sort sorts the elements along the last dimension, in ascending or descending order.
func Sort(c models.Context, x *G.Node, descending bool) *G.Node {
	values, _ := sorted(c, x, descending)
	return values
}

// ArgSort returns the indices, int32, of the elements in the order of Sort. Equal
// elements keep their order.
func ArgSort(c models.Context, x *G.Node, descending bool) *G.Node {
	_, places := sorted(c, x, descending)
	return places
}

func sorted(c models.Context, x *G.Node, descending bool) (values, places *G.Node) {
	if !floats(c, "TopKV2", x) || !classes(c, "TopKV2", x) {
		return nil, nil
	}
	n := x.Shape()[len(x.Shape())-1]
	if descending {
		return TopK(c, x, n)
	}
	values, places = TopK(c, Neg(c, x), n)
	return Neg(c, values), places
}

// MaskedFill returns x with a value in place of the elements where mask holds, which
// get no gradient. mask is bool and broadcasts to x's shape.
func MaskedFill(c models.Context, x, mask *G.Node, value float64) *G.Node {
	return Where(c, mask, scalarLike(c, x, value), x)
}
