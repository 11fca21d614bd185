package serving

import (
	"context"

	"github.com/goestimator/goestimator/internal/session"
	"github.com/goestimator/goestimator/serving/servable"
)

var _ servable.Model = (*session.Session)(nil)

// SavedModels loads SavedModels of which so many runs go on at the same time; 0: as many as there are CPUs.
func SavedModels(runs int) servable.Loader {
	return servable.LoaderFunc(func(ctx context.Context, dir string) (servable.Model, error) {
		s, err := session.Open(ctx, dir, session.Options{MaxConcurrent: runs})
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}
