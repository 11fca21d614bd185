package estimator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// TestShardsAreThoseOfTheJob: the job's checkpoint has the shards that Shards returns before training.
func TestShardsAreThoseOfTheJob(t *testing.T) {
	for _, placement := range []string{runconfig.BySize, runconfig.RoundRobin} {
		dir := t.TempDir()
		strategy := runconfig.Strategy{Name: "parameter_server", Placement: placement, Partitioner: runconfig.Partitioner{Kind: "fixed_shards", Shards: 3}}
		var list []models.VariableShards
		for _, r := range trainCluster(t, dir, 2, 2, strategy, func(rank int, m *member) {
			m.opts = []estimator.TrainOption{estimator.MaxSteps(2)}
			m.train = func(ctx context.Context, e *estimator.Estimator) (res estimator.TrainResult, err error) {
				if rank == 0 {
					list, err = e.Shards(ctx, m.input)
				}
				if err != nil {
					return res, err
				}
				return e.Train(ctx, m.input, m.opts...)
			}
		}) {
			if r.err != nil {
				t.Fatalf("%s: %s: %v", placement, r.task, r.err)
			}
		}
		saved := infosOf(t, dir)
		cut := 0
		for _, v := range list {
			info, ok := saved[v.Name]
			if !ok || !slices.Equal(info.Shape, v.Shape) || info.DType != v.DType {
				t.Errorf("%s: %s %v%v is %+v in the checkpoint", placement, v.Name, v.DType, v.Shape, info)
			}
			var got, want []string
			for _, s := range info.Slices {
				got = append(got, fmt.Sprint(s[0].Start, s[0].Length))
			}
			for _, s := range v.Shards {
				if len(v.Shards) > 1 {
					want = append(want, fmt.Sprint(s.Offset[0], s.Shape[0]))
					cut++
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s has the slices %q, expected %q", placement, v.Name, got, want)
			}
		}
		if cut < 6 {
			t.Errorf("%s: %d shards, expected several variables to be cut", placement, cut)
		}
	}
}
