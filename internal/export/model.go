package export

import (
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// Model is what is exported.
type Model struct {
	// Graphs holds one graph for each mode: that of Predict to be served, the graphs of Train and
	// Eval where they are asked for. They share the variables.
	Graphs    []Graph
	Variables Variables
	Assets    map[string][]byte // further files, below assets.extra/
	// WarmUp holds requests that a server replays before a model is available.
	WarmUp []*apis_go_proto.PredictionLog
}

// Variables gives the values of the variables, by name.
type Variables struct {
	// Value returns the value of a variable, as (*bundle.Reader).Tensor does.
	Value func(name string) (*tensor.Tensor, error)
	// Trainable says which ones an optimizer changes; nil: all but global_step.
	Trainable func(name string) bool
}

// Graph is a model's graph of one mode.
type Graph struct {
	Mode  models.Mode
	IR    *graph.Graph // is not changed
	Input InputForm
	Feeds []Feed
	// Columns are the feature columns that make feeds of raw features; nil: there are none.
	Columns *feature.Plan
	// Raw are the columns of the data, so that what Columns read has the type, and as
	// a raw input the shape, that it has there; one that is not listed is as Columns parse it.
	Raw []inputs.Column
	// Signatures say what the graph offers. One alone is offered as serving_default too.
	Signatures []Signature
	// TrainOp are the nodes that a step of training runs; none: the graph does not train.
	// What they and the signatures read of a variable, but for reads that follow an update
	// by an edge, is its value before the step.
	TrainOp []*graph.Node
	// Local are the first values of the variables that are no part of the model, by
	// name: what metrics sum up. They have these values whenever the model is loaded.
	Local map[string]*tensor.Tensor
}

// Feed is a column of the input and the placeholders of the graph that take it.
type Feed struct {
	Column inputs.Column
	// Values is the placeholder of a dense column [B, shape...], or of the values
	// of a ragged one.
	Values graph.Output
	// Offsets is the placeholder of a ragged column's offsets, int64 [B+1]; else invalid.
	Offsets graph.Output
	// Length is the number of steps of Width values that the graph has room for in an
	// example of a ragged column; 0: any. Longer examples are an error of the exported model.
	Length, Width int
}

// Kind is the kind of a signature.
type Kind string

// The kinds of signatures.
const (
	Predict  Kind = "predict"
	Classify Kind = "classify" // outputs "classes" (words) and "scores", float32 [B, classes]
	Regress  Kind = "regress"  // one output, float32 [B] or [B, 1]
	Training Kind = "train"    // of a graph of mode Train
	Eval     Kind = "eval"     // of a graph of mode Eval
)

// Signature is a set of outputs under a key.
type Signature struct {
	Name    string
	Kind    Kind
	Outputs []Named
}

// Named is an output of a signature.
type Named struct {
	Name   string
	Output graph.Output // dimension 0 is the batch
	Text   *Text        // not nil: Output are ids, and words are offered
}

// Text makes words of ids: Words[id], "UNK" for an id outside of it; with no Words
// the id in decimal.
type Text struct{ Words []string }
