package stablehlograph_test

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/imported/stablehlograph"
)

// Which operations of StableHLO are translated.
func Example() {
	for _, name := range []string{"dot_general", "sort", "all_reduce"} {
		fmt.Println(name, slices.Contains(stablehlograph.Operations(), name))
	}
	// Output:
	// dot_general true
	// sort true
	// all_reduce false
}
