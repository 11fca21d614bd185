// Package expr holds arithmetic as data: what update rules and learning rate
// schedules of one's own are written in (optimizers.NewRule, optimizers.Schedule).
//
// An Expr is a number, an input, or an operation on other expressions, element
// by element. Operations on numbers alone are computed at once, so one formula
// serves as a function of numbers and as a graph:
//
//	half := func(step expr.Expr) expr.Expr { return expr.Number(0.5).Pow(step.Times(0.001)) }
//	half(expr.Number(1000)).Value() // 0.5, true
//	half(expr.Input("step"))        // for a graph
//
// A Program is expressions in the order of their computing. It is what travels
// to parameter servers, which check it before they run it.
package expr
