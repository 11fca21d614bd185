package worker

import (
	"errors"
	"math"

	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"google.golang.org/protobuf/proto"
)

// graphCost is the approximate memory of a registered graph as a multiple of its GraphDef's size.
const graphCost = 8

// leastGraph is the number of bytes that a graph counts in addition to its GraphDef: an empty graph takes memory, and so does its
// session's handle.
const leastGraph = 512

// payer returns who pays for the values of a session. The mutex is held.
func (w *Worker) payer(session string) eager.Payer {
	a := w.accounts[session]
	if a == nil && w.memory != nil {
		a = w.memory.OpenLasting()
		w.accounts[session] = a
	}
	return eager.Payer{Account: a, Lasting: true}
}

// isShortage reports whether an error means that there is no memory.
func isShortage(err error) bool {
	var e *budget.Error
	return errors.As(err, &e)
}

// decodedSize is the approximate size of a decoded tensor in bytes.
func decodedSize(p *tensor_go_proto.TensorProto) int {
	n := 1
	for _, d := range p.GetTensorShape().GetDim() {
		if d.GetSize() < 0 || d.GetSize() > 0 && n > math.MaxInt/64/int(d.GetSize()) {
			return 0 // decoding refuses it
		}
		n *= int(d.GetSize())
	}
	if d := tensor.DType(p.GetDtype()); d.Size() > 0 {
		return n * d.Size()
	}
	return n*24 + proto.Size(p)
}
