package dataflow

import (
	"context"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/regions"
	"github.com/goestimator/goestimator/internal/imported/eager"
)

// traced reports whether the times of nodes are recorded.
func (r *run) traced() bool { return r.step.Env != nil && r.step.Env.Ran != nil }

// observed is execute that also reports when a node has run, if traced. Regions report their own nodes.
func (r *run) observed(ctx context.Context, t task, m *room) ([]token, error) {
	if !r.traced() || t.dead || r.p.nodes[t.node].source.Op == regions.Op {
		return r.execute(ctx, t, m)
	}
	began := time.Now()
	out, err := r.execute(ctx, t, m)
	if err == nil {
		values := make([]eager.Value, len(out))
		for i := range out {
			values[i] = out[i].value
		}
		r.step.Env.Ran(r.p.nodes[t.node].source, began, values)
	}
	return out, err
}
