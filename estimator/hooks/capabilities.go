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
	// returns its prefix. Saving a step that is on disk already does nothing.
	SaveCheckpoint(ctx context.Context) (prefix string, err error)
}

// Tensorless hooks take no tensors: they also run after steps of other tasks in
// which this one has had no data yet, so that tensors have no values.
type Tensorless interface {
	Hook
	Tensorless()
}

// Selective hooks read tensors only in some steps. A step whose tensors no hook reads may still be under way, on a GPU, when
// AfterRun is called; see Unread. Hooks that are neither Selective nor Tensorless read tensors of every step.
type Selective interface {
	Hook
	// Reads reports whether AfterRun will read tensors of the step that comes, which raises r.GlobalStep() by one.
	Reads(r Run) bool
}

// Unread reports whether the last step has no values of tensors, since no hook was to read any: see Selective.
func Unread(r Run) bool {
	u, ok := r.(interface{ Unread() bool })
	return ok && u.Unread()
}

// Summarizer is a Run that has an event file: training on the chief.
type Summarizer interface {
	// Events is the event file; nil where this task writes none.
	Events() EventWriter
}

// An EventWriter adds to an event file.
type EventWriter interface {
	// Scalar adds one number.
	Scalar(step int64, tag string, value float64) error
	// Values adds summaries of any kind, as one event.
	Values(step int64, values ...*summarypb.Summary_Value) error
}

// SummaryTensor is a summary that a model_fn asked for, with the name to Fetch its value by.
type SummaryTensor struct {
	Tag       string
	Kind      models.SummaryKind
	Fetch     string
	MaxImages int // of an image summary: how many of the batch; 0 is 1
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
	// Variables lists them in the order of their making, without an optimizer's slots.
	Variables() []VariableInfo
}
