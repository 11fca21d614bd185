package columngraph

import (
	"strconv"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/tensor"
)

// formula adds the numbers of a user's column, computed in float64 as on the host.
func (e *emitter) formula(c feature.Formula) graph.Output {
	in := map[string]graph.Output{}
	to := graph.Type{DType: tensor.Float64, Shape: graph.BatchOf(c.Width())}
	e = e.at(c.Name())
	for i, d := range c.Of() {
		in[strconv.Itoa(i)] = e.cast("wide", e.dense(d), tensor.Float64)
	}
	x := rule.Emission{B: e.b, Scope: e.scope, Tensor: to, Inputs: in}.Emit(feature.FormulaProgram(c))[0]
	return e.cast("numbers", x, tensor.Float32)
}
