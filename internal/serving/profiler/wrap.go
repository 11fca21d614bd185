package profiler

import (
	"context"

	"github.com/goestimator/goestimator/internal/platform/timeline"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// shown is a model whose runs appear in captures.
type shown struct {
	servable.Model
	name  string
	stats []timeline.Stat
}

// Wrap makes captures show the runs of m, the version id.
func Wrap(id servable.ID, m servable.Model) servable.Model {
	return shown{m, id.Name, []timeline.Stat{{Name: "version", Number: id.Version}}}
}

// Unwrap returns the model that runs.
func (s shown) Unwrap() servable.Model { return s.Model }

// Run implements servable.Model.
func (s shown) Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	ctx, end := timeline.Begin(ctx, timeline.Event{Line: timeline.Runs, Name: s.name, Stats: s.stats})
	defer end()
	return s.Model.Run(ctx, feeds, fetches)
}
