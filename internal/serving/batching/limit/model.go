package limit

import (
	"context"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

type limited struct {
	inner servable.Model
	l     *Limiter
}

// Wrap makes every Run of m pass the Limiter, which several models may share.
func (l *Limiter) Wrap(m servable.Model) servable.Model { return limited{m, l} }

// Signatures implements servable.Model.
func (m limited) Signatures() map[string]*pb.SignatureDef { return m.inner.Signatures() }

// Unwrap returns the model that runs.
func (m limited) Unwrap() servable.Model { return m.inner }

// Queued returns how many requests wait for their turn because of the Limiter.
func (m limited) Queued() int { return int(m.l.waiting.Load()) }

// Close implements servable.Model.
func (m limited) Close() error { return m.inner.Close() }

// Run implements servable.Model. It fails with ResourceExhausted where the server is overloaded.
func (m limited) Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	units := 1
	if m.l.o.Rows {
		for _, t := range feeds {
			if len(t.Shape) > 0 {
				units = max(units, t.Shape[0])
			}
		}
	}
	done, err := m.l.Admit(ctx, units)
	if err != nil {
		return nil, err
	}
	defer done()
	return m.inner.Run(ctx, feeds, fetches)
}
