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
	// Graphs has one graph for each mode: Predict's, to be served, and those of Train and
	// Eval if they are requested. They share the variables.
	Graphs    []Graph
	Variables Variables
	Assets    map[string][]byte // further files, below assets.extra/
	// WarmUp holds requests that a server replays before a model is available.
	WarmUp []*apis_go_proto.PredictionLog
}

// Variables provides the values of the variables, by name.
type Variables struct {
	// Value returns the value of a variable, as (*bundle.Reader).Tensor does.
	Value func(name string) (*tensor.Tensor, error)
	// Trainable reports which variables an optimizer changes; nil: all but global_step.
	Trainable func(name string) bool
}

// Graph is a model's graph of one mode.
type Graph struct {
	Mode  models.Mode
	IR    *graph.Graph // is not changed
	Input InputForm
	Feeds []Feed
	// Columns are the feature columns that make feeds from raw features; nil: there are none.
	Columns *feature.Plan
	// Raw are the columns of the data. What Columns read has the type of its column there and,
	// as a raw input, the shape; other features have the form that Columns parse.
	Raw []inputs.Column
	// Signatures are the graph's signatures. A single one is also served as serving_default.
	Signatures []Signature
	// TrainOp are the nodes that a training step runs; none: the graph does not train.
	// They and the signatures read the values of variables before the step, except for reads
	// that follow an update by an edge.
	TrainOp []*graph.Node
	// Local has the initial values of variables that are not part of the model, by
	// name, such as the sums of metrics. Loading the model resets them to these values.
	Local map[string]*tensor.Tensor
}

// Feed is a column of the input with the graph's placeholders for it.
type Feed struct {
	Column inputs.Column
	// Values is the placeholder of a dense column [B, shape...], or of the values
	// of a ragged one.
	Values graph.Output
	// Offsets is the placeholder of a ragged column's offsets, int64 [B+1]; else invalid.
	Offsets graph.Output
	// Length is the most steps, of Width values each, that the graph accepts in an
	// example of a ragged column; 0: no limit. Longer examples are an error in the exported model.
	Length, Width int
}

// Kind is the kind of a signature.
type Kind string

// The kinds of signatures.
const (
	Predict  Kind = "predict"
	Classify Kind = "classify" // outputs "classes" (words) and "scores", float32 [B, classes]
	Regress  Kind = "regress"  // one output, float32 [B] or [B, 1]
	Training Kind = "train"    // for a graph of mode Train
	Eval     Kind = "eval"     // for a graph of mode Eval
)

// Signature is a set of outputs with a key.
type Signature struct {
	Name    string
	Kind    Kind
	Outputs []Named
}

// Named is an output of a signature.
type Named struct {
	Name   string
	Output graph.Output // dimension 0 is the batch
	Text   *Text        // if set, Output is ids, and their words are served
}

// Text maps ids to words: Words[id], "UNK" for an id outside of it; without Words,
// the id in decimal.
type Text struct{ Words []string }
