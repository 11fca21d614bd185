package onnxgraph

import "github.com/goestimator/goestimator/tensor"

// optionalOperators work on values of which it is known whether they are there; they are gone once a model is translated.
var optionalOperators = operators{
	"Optional": one(optionalOf).but("values that are not there"), "OptionalGetElement": one(identity), "OptionalHasElement": one(hasElement),
}

func optionalOf(x *site) *value {
	x.attr("type")
	return x.at(0)
}

func hasElement(x *site) *value { return constant(tensor.Scalar(x.has(0))) }
