package expr_test

import (
	"fmt"

	"github.com/goestimator/goestimator/models/expr"
)

func Example() {
	half := func(step expr.Expr) expr.Expr { return expr.Number(0.5).Pow(step.Times(0.001)) }
	v, ok := half(expr.Number(1000)).Value()
	fmt.Println(v, ok)
	for i, x := range expr.Trace(half(expr.Input("step"))).Instructions {
		fmt.Println(i, x.Op, x.Args, x.Name, x.Value)
	}
	// Output:
	// 0.5 true
	// 0 Const []  0.5
	// 1 Input [] step 0
	// 2 Const []  0.001
	// 3 Mul [1 2]  0
	// 4 Pow [0 3]  0
}
