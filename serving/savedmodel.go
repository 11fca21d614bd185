package serving

import (
	"context"

	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/internal/session"
	"github.com/goestimator/goestimator/serving/servable"
)

var _ servable.Model = (*session.Session)(nil)

// SavedModelOptions say how SavedModels are run.
type SavedModelOptions struct {
	Runs   int           // of a model at the same time; 0: as many as there are CPUs
	Device device.Device // which computes, of all models; nil: the host
}

// SavedModels loads SavedModels.
func SavedModels(o SavedModelOptions) servable.Loader {
	return servable.LoaderFunc(func(ctx context.Context, dir string) (servable.Model, error) {
		s, err := session.Open(ctx, dir, session.Options{MaxConcurrent: o.Runs, Device: o.Device})
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}
