package weights

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/spelling"
	"github.com/goestimator/goestimator/tensor"
)

// Bounds of the search for names: a file's content must not make an error message expensive.
const (
	nearestOf   = 1000
	nearestName = 200
)

// Nearest returns up to three tensors of a list, with their shapes, that may have been meant for a
// variable: those with the same number of elements first, then by similarity of names.
func Nearest(name string, shape []int, list []Info) []string {
	type candidate struct {
		Info
		otherSize bool
		distance  int
	}
	var all []candidate
	for _, i := range list[:min(len(list), nearestOf)] {
		d := spelling.Distance(clip(name), clip(i.Name))
		all = append(all, candidate{i, tensor.NumElements(i.Shape) != tensor.NumElements(shape), d})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		if a.otherSize != b.otherSize {
			if a.otherSize {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.Name, b.Name))
	})
	var out []string
	for _, c := range all[:min(len(all), 3)] {
		out = append(out, fmt.Sprintf("%s %v", printable.Text(c.Name), c.Shape))
	}
	return out
}

func clip(name string) string { return name[:min(len(name), nearestName)] }
