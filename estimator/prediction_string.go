package estimator

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// printed is the number of elements of a tensor that a Prediction prints.
const printed = 20

// String lists each name with the first 20 elements of its tensor, in row-major order.
func (p Prediction) String() string {
	var parts []string
	for name, t := range p.All() {
		parts = append(parts, name+":"+elements(t))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// elements returns a tensor's elements as text: a scalar as one element, else as a list.
func elements(t *tensor.Tensor) string {
	var texts []string
	for i := range min(t.Len(), printed) {
		texts = append(texts, element(t, i))
	}
	if len(t.Shape) == 0 {
		return texts[0]
	}
	if more := t.Len() - printed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "[" + strings.Join(texts, " ") + "]"
}

// element returns element i as text.
func element(t *tensor.Tensor, i int) string {
	switch {
	case t.DType == tensor.String:
		return strconv.Quote(string(t.Strings[i]))
	case t.DType == tensor.Bool:
		return strconv.FormatBool(t.Int(i) != 0)
	case t.DType == tensor.Float64:
		return strconv.FormatFloat(t.Float(i), 'g', -1, 64)
	case t.DType.Float():
		return strconv.FormatFloat(t.Float(i), 'g', -1, 32)
	case t.DType == tensor.Uint64:
		return strconv.FormatUint(uint64(t.Int(i)), 10)
	}
	return strconv.FormatInt(t.Int(i), 10)
}
