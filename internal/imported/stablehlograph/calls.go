package stablehlograph

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// unaryCalls maps targets of custom calls, and names of composites, to single ops of TensorFlow.
var unaryCalls = map[string]*ops.Def{"mhlo.erf": ops.Erf, "mhlo.erf_inv": ops.Erfinv, "chlo.erf": ops.Erf, "chlo.erf_inv": ops.Erfinv, "chlo.erfc": ops.Erfc, "chlo.lgamma": ops.Lgamma,
	"chlo.digamma": ops.Digamma, "mhlo.tan": ops.Tan, "chlo.tan": ops.Tan, "chlo.sinh": ops.Sinh, "chlo.cosh": ops.Cosh, "mhlo.sinh": ops.Sinh, "mhlo.cosh": ops.Cosh, "chlo.asin": ops.Asin,
	"chlo.acos": ops.Acos, "chlo.atan": ops.Atan, "chlo.asinh": ops.Asinh, "chlo.acosh": ops.Acosh, "chlo.atanh": ops.Atanh, "mhlo.asin": ops.Asin, "mhlo.acos": ops.Acos,
	"mhlo.atan": ops.Atan, "mhlo.asinh": ops.Asinh, "mhlo.acosh": ops.Acosh, "mhlo.atanh": ops.Atanh, "chlo.bessel_i1e": ops.BesselI1e}

// placements are targets that only say where something is computed, which is here.
var placements = []string{"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint", "xla.sdy.FuncResultSharding"}

// customCall is a call of something outside StableHLO.
func customCall(x *site) []*value {
	target, _ := x.op.Attrs["call_target_name"].(string)
	if d := unaryCalls[target]; d != nil {
		return []*value{x.each(d, nil, x.at(0))}
	}
	if out, ok := calledLAPACK(x, target); ok {
		return out
	}
	switch {
	case slices.Contains(placements, target) && len(x.in) == len(x.op.Results):
		return x.in
	case target == "shape_assertion":
		x.assert()
		return nil
	case target == "mhlo.topk":
		attrs, _ := x.op.Attrs["mhlo.attributes"].(map[string]any)
		k, ok := attrs["k"].(int64)
		if largest, said := attrs["largest"].(bool); !ok || said && !largest {
			refuse("attributes k and largest: expected a number, and true")
		}
		return x.topK(x.at(0), int(k))
	case target == "stablehlo.dynamic_top_k":
		k, ok := x.at(1).numbers()
		if !ok || len(k) != 1 {
			refuse("a number of elements that is not constant")
		}
		return x.topK(x.at(0), k[0])
	case target == "stablehlo.dynamic_reduce_window":
		return dynamicReduceWindow(x)
	case target == "ApproxTopK":
		return x.approxTopK()
	}
	refuse("the target is not known")
	return nil
}

// approxTopK: if the program says that its platform has no approximation, XLA computes it exactly.
func (x *site) approxTopK() []*value {
	if exact, _ := x.setting("is_fallback").(bool); !exact {
		refuse("an approximation that differs from machine to machine")
	}
	k, ok := x.setting("top_k").(int64)
	axis, of := x.setting("reduction_dim").(int64)
	called, _ := x.op.Attrs["called_computations"].([]any)
	v := x.at(0)
	if !ok || !of || int(axis) != v.rank()-1 || len(called) != 1 {
		refuse("attributes top_k, reduction_dim and called_computations: expected a number, the last dimension, and one function")
	}
	name, _ := called[0].(string)
	f := x.t.functions[name]
	if f == nil || len(f.Body.Args) != 4 || len(x.in) < 2 {
		refuse("function %q is missing, or takes something else than two elements and their places", name)
	}
	place := scalar(x.at(1).dtype, 0)
	first := func(a, b float64) bool {
		return x.ask(f.Body, scalar(v.dtype, a), scalar(v.dtype, b), place, place).Int(0) != 0
	}
	if first(1, 2) == first(2, 1) {
		refuse("function %q is no order", name)
	}
	return x.firstK(v, int(k), sortKey{falling: first(2, 1)})
}

// setting returns an attribute of a call's configuration.
func (x *site) setting(name string) any {
	for _, from := range []string{"backend_config", "mhlo.backend_config"} {
		if attrs, _ := x.op.Attrs[from].(map[string]any); attrs[name] != nil {
			return attrs[name]
		}
	}
	return nil
}

// assert makes requests fail if the module's assertion does.
func (x *site) assert() {
	cond := x.at(0)
	if k, ok := cond.numbers(); ok && len(k) == 1 && k[0] != 0 {
		return
	}
	message, _ := x.op.Attrs["error_message"].(string)
	if x.parent != nil {
		refuse("an assertion in a loop or branch")
	}
	text, err := tensor.FromStrings([][]byte{[]byte(message)})
	if err != nil {
		refuse("%v", err)
	}
	n := x.g.Node("Assert", x.g.Graph.UniqueName("shape_assertion"), nil, graph.Attrs{"T": []tensor.DType{tensor.String}, "summarize": int64(3)},
		x.operand(x.own(cond)), x.operand(constant(text)))
	x.effects = append(x.effects, n)
}

// composite is an operation that a function of the module defines. If it has an op, that is used instead.
func composite(x *site) []*value {
	name, _ := x.op.Attrs["name"].(string)
	attrs, _ := x.op.Attrs["composite_attributes"].(map[string]any)
	if d := unaryCalls[name]; d != nil && len(x.in) == 1 {
		return []*value{x.each(d, nil, x.at(0))}
	}
	if k, ok := attrs["k"].(int64); ok && name == "chlo.top_k" {
		return x.topK(x.at(0), int(k))
	}
	decomposition, _ := x.op.Attrs["decomposition"].(string)
	if decomposition == "" {
		refuse("composite %s has no decomposition", strings.TrimSpace(name))
	}
	return x.called(decomposition, x.in)
}
