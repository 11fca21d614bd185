package ops_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

func Example() {
	d := ops.GatherV2
	fmt.Println(d.Signature())
	for k, a := range d.Inputs() {
		fmt.Println(k, a.Name, a.TypeAttr, a.Role == ops.RoleConstant)
	}
	// Output:
	// GatherV2(params: Tparams, indices: Tindices, axis: Taxis const) -> output: Tparams
	// 0 params Tparams false
	// 1 indices Tindices false
	// 2 axis Taxis true
}
