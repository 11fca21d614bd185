package feature_test

import (
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/inputs/feature"
)

// TestPlansOfManyColumns: the work of a plan grows linearly in its columns, not quadratically.
func TestPlansOfManyColumns(t *testing.T) {
	allocations := func(columns int) float64 {
		var list []feature.Column
		for i := range columns {
			list = append(list, &feature.Numeric{Key: fmt.Sprint("x", i)})
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := feature.New(feature.Columns{Dense: list}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(50), allocations(800); many > 40*few {
		t.Errorf("50 columns take %v allocations, and 800 take %v: expected 16 times as many", few, many)
	}
}
