package ops

import (
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Update says which inputs of an op that updates variables by a gradient are what.
type Update struct {
	Variables int   // the number of variables, which come first: the trained one, then its slots
	Gradient  int   // which input is the gradient, or the summand of rows
	Indices   int   // which input has the rows' indices, -1 for none: whole variables are updated
	Scalars   []int // the other inputs in order
	Inputs    int   // all of them
}

// gradientNames are TensorFlow's.
var gradientNames = []string{"grad", "delta", "updates"}

// Update returns which inputs of an update are what, false if the op is no update.
func (d *Def) Update() (Update, bool) {
	in := d.Inputs()
	u := Update{Indices: -1, Gradient: -1, Inputs: len(in)}
	for i, a := range in {
		switch {
		case a.Ref || a.TypeAttr == "" && a.Type == tensor.Resource:
			u.Variables++
		case slices.Contains(gradientNames, a.Name):
			u.Gradient = i
		case a.Name == "indices":
			u.Indices = i
		default:
			u.Scalars = append(u.Scalars, i)
		}
	}
	return u, d.State == Writes && u.Variables > 0 && u.Gradient >= 0
}
