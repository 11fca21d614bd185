package hooks

import (
	"context"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
)

// Checkpointer is a Run that can save: a training loop on the chief.
type Checkpointer interface {
	// SaveCheckpoint writes a checkpoint of the state after the last step and
	// returns its prefix. It does nothing if that step is already saved.
	SaveCheckpoint(ctx context.Context) (prefix string, err error)
}

// Tensorless hooks read no tensors: they also run after steps for which this task had
// no data, so that tensors have no values.
type Tensorless interface {
	Hook
	Tensorless()
}

// Selective hooks read tensors only in some steps. If no hook reads a step's tensors, the step may still run on a GPU when
// AfterRun is called; see Unread. Hooks that are neither Selective nor Tensorless read tensors of every step.
type Selective interface {
	Hook
	// Reads reports whether AfterRun will read tensors of the next step, number r.GlobalStep()+1.
	Reads(r Run) bool
}

// Unread reports whether tensors have no values after the last step, since no hook asked to read any: see Selective.
func Unread(r Run) bool {
	u, ok := r.(interface{ Unread() bool })
	return ok && u.Unread()
}

// Summarizer is a Run that has an event file: training on the chief.
type Summarizer interface {
	// Events is the event file; nil if this task writes none.
	Events() EventWriter
}

// An EventWriter adds to an event file.
type EventWriter interface {
	// Scalar adds one number.
	Scalar(step int64, tag string, value float64) error
	// Values adds summaries of any kind, as one event.
	Values(step int64, values ...*summarypb.Summary_Value) error
}

// SummaryTensor is a summary that a model_fn asked for, with the name by which to Fetch its value.
type SummaryTensor struct {
	Tag       string
	Kind      models.SummaryKind
	Fetch     string
	MaxImages int // of an image summary: the number of images of the batch; 0: 1
}

// SummarySource is a Setup that knows the model's summaries: a training loop.
type SummarySource interface {
	Summaries() []SummaryTensor
}

// VariableInfo describes a variable of a model.
type VariableInfo struct {
	Name      string
	DType     tensor.DType
	Shape     []int
	Trainable bool
}

// VariableLister is a Run that knows the model's variables: a training loop.
type VariableLister interface {
	// Variables lists them in the order of their creation, without an optimizer's slots.
	Variables() []VariableInfo
}
