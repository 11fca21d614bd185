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

// graphCost is about how many times the bytes of its GraphDef a registered graph takes.
const graphCost = 8

// leastGraph are the bytes that a graph counts as besides its GraphDef: one of no nodes takes memory, and so does its session's handle.
const leastGraph = 512

// payer says who pays for what a session makes. The mutex is held.
func (w *Worker) payer(session string) eager.Payer {
	a := w.accounts[session]
	if a == nil && w.memory != nil {
		a = w.memory.OpenLasting()
		w.accounts[session] = a
	}
	return eager.Payer{Account: a, Lasting: true}
}

// isShortage reports whether an error says that there is no memory.
func isShortage(err error) bool {
	var e *budget.Error
	return errors.As(err, &e)
}

// decodedSize is about how many bytes a tensor takes once it is read.
func decodedSize(p *tensor_go_proto.TensorProto) int {
	n := 1
	for _, d := range p.GetTensorShape().GetDim() {
		if d.GetSize() < 0 || d.GetSize() > 0 && n > math.MaxInt/64/int(d.GetSize()) {
			return 0 // it is refused where it is read
		}
		n *= int(d.GetSize())
	}
	if d := tensor.DType(p.GetDtype()); d.Size() > 0 {
		return n * d.Size()
	}
	return n*24 + proto.Size(p)
}
