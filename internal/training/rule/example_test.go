package rule_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/tensor"
)

// update emits r for the variable w and prints the nodes that change something.
func update(r rule.Rule) {
	b := graph.NewBuilder(graph.New())
	kind := graph.TypeOf(tensor.Float32, 2)
	a := &rule.Application{
		B:     b,
		Scope: r.Traits().Label + "/update_w/",
		V:     &models.Variable{Name: "w", DType: tensor.Float32, Shape: []int{2}},
		Grad:  rule.Gradient{Output: b.Placeholder("gradient", kind)},
		Rate:  b.Scalar("rate", tensor.Float32, 0.1),
		Exact: b.Scalar("exact_rate", tensor.Float64, 0.1),
		Step:  b.Scalar("step", tensor.Float64, 0),
		State: &rule.State{},
	}
	for _, s := range r.Slots() {
		a.Slots = append(a.Slots, b.Variable("w/"+s.Keras, kind))
	}
	for _, n := range r.Update(a) {
		fmt.Println(r.Name(), "->", n.Op, n.Inputs[0])
	}
	if err := b.Err(); err != nil {
		fmt.Println(err)
	}
}

// A rule of TensorFlow is one op that updates in place.
// A user's rule is a program of elementwise ops, here v' = 0.9 v + g, w' = w - rate v'.
func Example() {
	update(rule.Momentum{Momentum: 0.9})

	v := expr.Input("velocity").Times(0.9).Add(expr.Input(rule.InputGradient))
	w := expr.Input(rule.InputVariable).Sub(expr.Input(rule.InputRate).Mul(v))
	own := rule.Custom{Label: "heavy", States: []rule.CustomSlot{{Name: "velocity"}}, Next: expr.Trace(w, v)}
	if err := own.Check(); err != nil {
		fmt.Println(err)
	}
	update(own)

	own.States = nil // the program still reads the slot
	fmt.Println(own.Check())
	// Output:
	// momentum -> ResourceApplyMomentum w:0
	// heavy -> AssignVariableOp w:0
	// heavy -> AssignVariableOp w/velocity:0
	// rule heavy: program: instruction 2: unknown input "velocity": expected one of ["variable" "gradient" "learning_rate" "step"]
}
