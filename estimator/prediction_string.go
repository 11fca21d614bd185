package estimator

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// printed is how many elements of a tensor a Prediction prints.
const printed = 20

// String is the prediction for a person: each name with its elements, in row-major order, the first 20 of many.
func (p Prediction) String() string {
	var parts []string
	for name, t := range p.All() {
		parts = append(parts, name+":"+elements(t))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// elements are a tensor's elements as text: a scalar's alone, else a list.
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

// element is element i as text.
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
