// Package expr holds arithmetic as data. Custom update rules and learning rate schedules
// are written in it (optimizers.NewRule, optimizers.Schedule).
//
// An Expr is a number, an input, or an operation on other expressions, element by element.
// Operations on numbers alone are computed immediately, so one formula is both a function
// of numbers and a graph:
//
//	half := func(step expr.Expr) expr.Expr { return expr.Number(0.5).Pow(step.Times(0.001)) }
//	half(expr.Number(1000)).Value() // 0.5, true
//	half(expr.Input("step"))        // for a graph
//
// A Program lists expressions in the order of evaluation. It is sent to parameter servers,
// which check it before they run it.
package expr
