package inference

import (
	"errors"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/wire"
	"github.com/goestimator/goestimator/tensor"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Examples are serialized tf.Examples. The bytes of Context, if any, are put in front of each, which merges the
// context's features into it.
type Examples = wire.Examples

// tensorOf returns the examples, each after the context, as a vector of strings, and the bytes that it took from the
// account.
func tensorOf(e Examples, a *budget.Account) (t *tensor.Tensor, taken int, err error) {
	if len(e.Serialized) == 0 {
		return nil, 0, invalid("Input is empty.")
	}
	rows := e.Serialized
	if len(e.Context) > 0 {
		if err := a.ReserveArray(len(rows), stringHeader+len(e.Context)); err != nil {
			return nil, 0, err
		}
		size := len(e.Context) * len(rows)
		for _, x := range e.Serialized {
			size += len(x)
		}
		if err := a.Reserve(size - len(e.Context)*len(rows)); err != nil {
			return nil, 0, err
		}
		all := make([]byte, 0, size)
		rows = make([][]byte, len(e.Serialized))
		for i, x := range e.Serialized {
			start := len(all)
			all = append(append(all, e.Context...), x...)
			rows[i] = all[start:len(all):len(all)]
		}
		taken = stringHeader*len(rows) + size
	}
	return &tensor.Tensor{DType: tensor.String, Shape: []int{len(rows)}, Strings: rows}, taken, nil
}

// stringHeader is the size of a []byte.
const stringHeader = 24

// examplesOf returns the examples of a request, serialized.
func examplesOf(in *apis.Input, a *budget.Account) (Examples, error) {
	e, err := wire.ExamplesOf(in, a)
	if over := (*budget.Error)(nil); err != nil && !errors.As(err, &over) {
		return e, status.Error(codes.Internal, "Error parsing serialized input.")
	}
	return e, err
}
