package onnxgraph

import "github.com/goestimator/goestimator/tensor"

// optionalOperators work on values that are known to be present or absent. The translated model has no node for them.
var optionalOperators = operators{
	"Optional": one(optionalOf).but("values that are not there"), "OptionalGetElement": one(identity), "OptionalHasElement": one(hasElement),
}

func optionalOf(x *site) *value {
	x.attr("type")
	return x.any(0)
}

func hasElement(x *site) *value { return constant(tensor.Scalar(x.has(0))) }
