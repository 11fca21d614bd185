package cli

import (
	"slices"

	"github.com/goestimator/goestimator/inputs"
)

// formats are what input.format may be.
func (a *app) formats() []string {
	names := inputs.Formats()
	for name := range a.inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
