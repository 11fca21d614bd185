package cli

import (
	"slices"

	"github.com/goestimator/goestimator/inputs"
)

// formats are what input.format may be.
func (a *app) formats() []string {
	names := append(inputs.Formats(), a.inputs.Names()...)
	slices.Sort(names)
	return names
}
