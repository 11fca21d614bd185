package distribute

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Tensors are the arguments of one replica by name. The first dimension of each is the rows.
type Tensors map[string]*tensor.Tensor

// Batch is the input of one run of a function: a part for each local replica. It has fewer
// parts at the end of the data, and none in a task without more data.
type Batch []Tensors

// PerReplica is a result of each local replica that had data.
type PerReplica []*tensor.Tensor

// arg is an argument that a function declared.
type arg struct {
	name  string
	dtype tensor.DType
	shape []int // of a row
}

// feed checks a part against the arguments of a function, and puts it in the arguments' order.
func feed(args []arg, part Tensors, dst []*tensor.Tensor) (rows int, feeds []*tensor.Tensor, err error) {
	rows, dst = -1, dst[:0]
	for _, a := range args {
		t := part[a.name]
		switch {
		case t == nil:
			return 0, nil, fmt.Errorf("argument %q is missing: the batch has %v", a.name, sortedKeys(part))
		case t.DType != a.dtype || len(t.Shape) != len(a.shape)+1 || !slices.Equal(t.Shape[1:], a.shape):
			return 0, nil, fmt.Errorf("argument %q: expected %v of rows %v, got %v%v", a.name, a.dtype, a.shape, t.DType, t.Shape)
		case rows >= 0 && t.Shape[0] != rows:
			return 0, nil, fmt.Errorf("argument %q has %d rows, others %d: expected equally many", a.name, t.Shape[0], rows)
		}
		rows, dst = t.Shape[0], append(dst, t)
	}
	if len(args) > 0 && rows == 0 {
		return 0, nil, errors.New("a part without rows: leave it out of the batch")
	}
	return max(rows, 1), dst, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
