package servable

import (
	"context"
	"fmt"
	"iter"

	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// A Model computes tensors by name: a loaded SavedModel, or a stand-in for one.
// It is safe for concurrent use until Close.
type Model interface {
	// Signatures returns the model's signatures by key. They must not be changed.
	Signatures() map[string]*pb.SignatureDef
	// Run computes the fetches, tensor names such as "scores:0", from feeds by tensor name. It does not keep or change the feeds;
	// the results, in the order of fetches, belong to the caller. Errors carry a gRPC status: InvalidArgument for feeds that do not
	// fit, DeadlineExceeded and Canceled for ctx, Internal for faults of the model.
	Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error)
	// Close frees the model's resources. No Run may be in progress or begin later.
	Close() error
}

// Feature is a feature of serialized examples that a signature parses.
type Feature struct {
	Name   string
	DType  tensor.DType
	Shape  []int // -1: any size; for dense features
	Sparse bool  // any number of values, or none
}

// FeaturesOf returns the features that a signature of m parses from serialized examples, sorted by name; none if it parses none, or
// if m does not know. A model that wraps another one has Unwrap.
func FeaturesOf(m Model, signature string) []Feature {
	for m := range layers(m) {
		if x, ok := m.(interface{ Features(string) []Feature }); ok {
			return x.Features(signature)
		}
	}
	return nil
}

// layers yields m and the models that it wraps, the outermost first.
func layers(m Model) iter.Seq[Model] {
	return func(yield func(Model) bool) {
		for m != nil && yield(m) {
			x, ok := m.(interface{ Unwrap() Model })
			if !ok {
				return
			}
			m = x.Unwrap()
		}
	}
}

// A Loader makes Models from version directories.
type Loader interface {
	// Load reads the model in dir (<base path>/<version>). The error says what is wrong with the model.
	Load(ctx context.Context, dir string) (Model, error)
}

// ID names one version of a model.
type ID struct {
	Name    string
	Version int64
}

// String is TensorFlow Serving's form, "{name: m version: 1}".
func (id ID) String() string { return fmt.Sprintf("{name: %s version: %d}", id.Name, id.Version) }
