package optimizers

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/expr"
)

// Rule is an update rule with its hyper-parameters: made by the constructor of an
// optimizer, or by NewRule.
type Rule interface {
	// Name is the rule's name in New, or the name passed to NewRule.
	Name() string
}

// NewRule returns a rule of your own. It calls define once, with an Update whose
// methods return the values that an update can read. Calls of Assign say how one
// variable and its slots change:
//
//	func signs(beta float64) optimizers.Rule {
//		return optimizers.NewRule("Signs", func(u *optimizers.Update) {
//			m := u.Slot("m", 0)
//			next := m.Times(beta).Add(u.Gradient().Times(1 - beta))
//			u.Assign(m, next)
//			u.Assign(u.Variable(), u.Variable().Sub(u.LearningRate().Mul(next.Sign())))
//		})
//	}
//
// The resulting rule is data: it runs under every strategy, on every device, and on
// parameter servers that do not have the function. Its name is part of the names of its
// slots in checkpoints. A sparse gradient is made dense. With a rule that uses Norm,
// each variable stays on one parameter server. Minimize fails for an invalid rule.
func NewRule(name string, define func(u *Update)) Rule {
	u := &Update{rule: rule.Custom{Label: name}, next: map[expr.Expr]expr.Expr{}, variable: expr.Input(rule.InputVariable)}
	define(u)
	next := []expr.Expr{u.value(u.variable)}
	for _, s := range u.slots {
		next = append(next, u.value(s))
	}
	u.rule.Next = expr.Trace(next...)
	if u.err == nil {
		u.err = u.rule.Check()
	}
	if u.err != nil {
		return brokenRule{u.rule, fmt.Errorf("rule %s: %w", name, u.err)}
	}
	return u.rule
}

// brokenRule is a rule that cannot be used.
type brokenRule struct {
	rule.Custom
	err error
}

// Update is what a custom rule reads and assigns: expressions over the values of one
// variable and its slots at the start of a step. Tensors have the variable's shape.
type Update struct {
	rule     rule.Custom
	variable expr.Expr
	slots    []expr.Expr
	next     map[expr.Expr]expr.Expr
	err      error
}

// Variable is the variable's value.
func (u *Update) Variable() expr.Expr { return u.variable }

// Gradient is the gradient of the loss by the variable, clipped and unscaled.
func (u *Update) Gradient() expr.Expr { return expr.Input(rule.InputGradient) }

// LearningRate is the rate of this step, a scalar.
func (u *Update) LearningRate() expr.Expr { return expr.Input(rule.InputRate) }

// Step is the global step, a scalar that starts at 0.
func (u *Update) Step() expr.Expr { return expr.Input(rule.InputStep) }

// Slot is a state with the variable's shape that the rule keeps from step to step and
// that checkpoints have. All its elements start at initial.
func (u *Update) Slot(name string, initial float64) expr.Expr {
	s := expr.Input(name)
	u.rule.States = append(u.rule.States, rule.CustomSlot{Name: name, Init: initial})
	u.slots = append(u.slots, s)
	return s
}

// Assign sets target, a result of Variable or Slot, to a value, from the next step on.
// What is not assigned does not change.
func (u *Update) Assign(target, value expr.Expr) {
	known := target == u.variable
	for _, s := range u.slots {
		known = known || s == target
	}
	if _, twice := u.next[target]; (!known || twice) && u.err == nil {
		u.err = fmt.Errorf("assignment %d: expected the variable or a slot, each once", len(u.next)+1)
	}
	if u.next == nil { // not made by NewRule
		u.next = map[expr.Expr]expr.Expr{}
	}
	u.next[target] = value
}

// value returns the next value of a target.
func (u *Update) value(target expr.Expr) expr.Expr {
	if v, ok := u.next[target]; ok {
		return v
	}
	return target
}

// checkRule reports a rule that cannot be used.
func checkRule(r Rule) error {
	if b, ok := r.(brokenRule); ok {
		return b.err
	}
	if _, ok := r.(rule.Rule); !ok {
		return fmt.Errorf("rule %T: expected that of a constructor, or one of NewRule", r)
	}
	return nil
}
