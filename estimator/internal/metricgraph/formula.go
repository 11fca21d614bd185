package metricgraph

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/tensor"
)

// terms gives the sums of a formula's terms.
func (e *emission) terms() graph.Output {
	labels, predictions := e.pair()
	vector := graph.Type{DType: tensor.Float64, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}}
	as := func(name string, x graph.Output) graph.Output {
		return e.b.Op("Identity", e.scope+name, vector, graph.Attrs{"T": tensor.Float64}, x)
	}
	in := map[string]graph.Output{"label": as("label", labels), "prediction": as("prediction", predictions)}
	weights := e.weightsOf(labels, e.shape(), 2)
	all := rule.Emission{B: e.b, Scope: e.scope, Tensor: vector, Inputs: in}.Emit(e.form.Formula.Terms())
	sums := make([]graph.Output, len(all))
	for i, x := range all {
		sums[i] = e.sum(e.of("Mul", weights, x))
	}
	return e.pack(sums...)
}

// formula gives a formula's result.
func (e *emission) formula(sums graph.Output) graph.Output {
	p := e.form.Formula.Value()
	in := map[string]graph.Output{}
	for i := range terms(e.form) {
		in[fmt.Sprintf("sum%d", i)] = e.at(sums, i)
	}
	return rule.Emission{B: e.b, Scope: e.scope, Tensor: graph.Type{DType: tensor.Float64}, Inputs: in}.Emit(p)[0]
}
