package estimator

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/models/weights"
)

// unmatched returns the error of variables without a weight in the file. It lists similar
// names that the file has.
func (r *warming) unmatched() error {
	free := r.unused()
	const most = 10
	var b strings.Builder
	for i, v := range r.missing {
		if i == most {
			fmt.Fprintf(&b, "\n  and %d more", len(r.missing)-most)
			break
		}
		src := r.source(v)
		fmt.Fprintf(&b, "\n  %s %v%v: no tensor %s", v.Name, v.DType, v.Shape, src.Name)
		if near := weights.Nearest(src.Name, v.Shape, free); len(near) > 0 {
			fmt.Fprintf(&b, "; nearest: %s", strings.Join(near, ", "))
		}
	}
	return fmt.Errorf("%d variables found no weight, %d did; the file has %d tensors that no variable takes%s\nname them by map or renames (in Go: Previous), leave them out by skip (in Go: Vars), or set partial; "+
		"`goestimator inspect weights` lists the tensors", len(r.missing), r.taken, len(free), b.String())
}
