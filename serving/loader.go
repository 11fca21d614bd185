package serving

import (
	"context"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Model is a loaded model. Run must be safe for concurrent use.
type Model interface {
	// Signatures returns the model's signatures by key. Callers must not modify them.
	Signatures() map[string]*pb.SignatureDef
	// Run computes the fetches, tensor names such as "scores:0", from feeds by tensor name. It must not keep or modify
	// the feeds. The results, in the order of fetches, belong to the caller. Errors carry a gRPC status: InvalidArgument for
	// feeds that do not fit, DeadlineExceeded and Canceled for ctx, Internal for faults of the model.
	Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error)
	// Close frees the model's resources. No Run may be in progress or begin later.
	Close() error
}

// Loader loads the Model of a version directory (<base path>/<version>). The error says what is wrong with the directory.
type Loader func(ctx context.Context, dir string) (Model, error)

// servable returns the loader in the form that the manager of versions calls.
func (l Loader) servable() servable.Loader {
	return servable.LoaderFunc(func(ctx context.Context, dir string) (servable.Model, error) { return l(ctx, dir) })
}
