package servable

import (
	"context"

	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Func is a Model made from a Go function: the twin in memory, for tests.
type Func struct {
	Sigs    map[string]*pb.SignatureDef
	Compute func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error)
	OnClose func() error // may be nil
}

var _ Model = (*Func)(nil)

// Signatures implements Model.
func (f *Func) Signatures() map[string]*pb.SignatureDef { return f.Sigs }

// Run implements Model.
func (f *Func) Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	return f.Compute(ctx, feeds, fetches)
}

// Close implements Model.
func (f *Func) Close() error {
	if f.OnClose == nil {
		return nil
	}
	return f.OnClose()
}

// LoaderFunc is a function as a Loader.
type LoaderFunc func(ctx context.Context, dir string) (Model, error)

// Load implements Loader.
func (f LoaderFunc) Load(ctx context.Context, dir string) (Model, error) { return f(ctx, dir) }
