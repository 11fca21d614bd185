package serving

import (
	"context"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Model is a loaded model. Run may be called by many goroutines at the same time.
type Model interface {
	// Signatures returns what the model offers, by key; nobody changes it.
	Signatures() map[string]*pb.SignatureDef
	// Run computes the fetches, tensor names such as "scores:0", from feeds by tensor name. It does not keep or change
	// the feeds; the results, in the order of fetches, are the caller's. Errors carry a gRPC status: InvalidArgument for
	// feeds that do not fit, DeadlineExceeded and Canceled for ctx, Internal for what is the model's fault.
	Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error)
	// Close frees what the model holds. No Run may be going on or begin later.
	Close() error
}

// Loader makes the Model of a version directory (<base path>/<version>). The error says what is wrong with it.
type Loader func(ctx context.Context, dir string) (Model, error)

// servable is the loader as the manager of versions calls it.
func (l Loader) servable() servable.Loader {
	return servable.LoaderFunc(func(ctx context.Context, dir string) (servable.Model, error) { return l(ctx, dir) })
}
