package serving

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/serving/servable"
)

var _ servable.Model = (*session.Session)(nil)

// SavedModelOptions say how SavedModels are run.
type SavedModelOptions struct {
	Runs   int           // of a model at the same time; 0: as many as there are CPUs
	Device device.Device // which computes, of all models; nil: the host
	// HardPlacement refuses models with ops that the device has no kernel for; else those run on the host.
	HardPlacement bool
	Tags          []string     // of the graph that is served, exactly these; none: serve
	Log           *slog.Logger // where such ops are logged, once for each version; nil: nowhere
}

// SavedModels loads SavedModels.
func SavedModels(o SavedModelOptions) servable.Loader {
	return servable.LoaderFunc(func(ctx context.Context, dir string) (servable.Model, error) {
		s, err := session.Open(ctx, dir, session.Options{MaxConcurrent: o.Runs, Device: o.Device, HardPlacement: o.HardPlacement, Tags: o.Tags,
			OnHost: o.onHost(dir)})
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}

// onHost warns of what the device does not do for the model in dir.
func (o SavedModelOptions) onHost(dir string) func([]string, int) {
	if o.Log == nil {
		return nil
	}
	return func(steps []string, others int) {
		n := len(steps)
		o.Log.Warn(strconv.Itoa(n)+" of "+strconv.Itoa(n+others)+" operations of each run are done on the host, which the GPU waits for: it has no kernel for them",
			"model", dir, "operations", engine.CountOps(steps), "first", steps[0])
	}
}
