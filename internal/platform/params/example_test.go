package params_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/params"
)

func Example() {
	r := params.Read("network mlp", map[string]any{"hidden_units": "128, 64", "dropout": 2, "layers": 3})
	fmt.Println(r.Ints("hidden_units", 1), r.Rate("dropout", 0))
	fmt.Println(r.Done())
	// Output:
	// [128 64] 0
	// network mlp: dropout: expected a number >= 0 and < 1, got 2 (int)
	// network mlp: unknown parameter layers: known are dropout, hidden_units
}
