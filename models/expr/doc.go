// Package expr represents arithmetic as data. Custom update rules (optimizers.NewRule) and
// learning rate schedules (optimizers.Schedule) are written with it.
//
// An Expr is a number, an input, or an operation on other expressions, element by element.
// Operations on numbers are computed immediately, so one formula works on numbers and
// builds graphs:
//
//	half := func(step expr.Expr) expr.Expr { return expr.Number(0.5).Pow(step.Times(0.001)) }
//	half(expr.Number(1000)).Value() // 0.5, true
//	half(expr.Input("step"))        // for a graph
//
// A Program lists expressions in the order of evaluation. It is sent to parameter servers,
// which check it before they run it.
package expr
