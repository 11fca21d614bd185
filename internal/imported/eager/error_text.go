package eager

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// shapeText formats a shape as TensorFlow's errors do.
func shapeText(shape []int) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ",") }

// typeText is TensorFlow's name of a type.
func typeText(d tensor.DType) string {
	switch d {
	case tensor.Float32:
		return "float"
	case tensor.Float64:
		return "double"
	case tensor.Float16:
		return "half"
	}
	return d.String()
}
