package estimator_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/runconfig"
)

// TestFourGPUsEqualOneReplica: an Estimator that trains on four GPUs has the losses of one replica with the whole batch,
// under every strategy with several replicas. Batches are copied ahead to each GPU.
func TestFourGPUsEqualOneReplica(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: long")
	}
	for _, name := range []string{"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"} {
		t.Setenv(name, "")
	}
	fn := equalModel(rule.Momentum{Momentum: 0.9}, 0.01, true)
	want := equalRun(t, equalJob{fn: fn, data: equalData, strategy: runconfig.Strategy{Name: "default", Device: "/cpu:0"}, workers: 1})
	for _, c := range []struct {
		strategy runconfig.Strategy
		servers  int
	}{
		{runconfig.Strategy{Name: "mirrored"}, 0},
		{runconfig.Strategy{Name: "central_storage"}, 0},
		{runconfig.Strategy{Name: "multi_worker_mirrored"}, 0},
		{runconfig.Strategy{Name: "parameter_server", Sync: true}, 2}, // else prefetched rows lack the previous step
	} {
		t.Run(fmt.Sprintf("%s, %d servers", c.strategy.Name, c.servers), func(t *testing.T) {
			source := gpustest.Need(t, 4)
			got := equalRun(t, equalJob{fn: fn, data: equalData, strategy: c.strategy, workers: 1, servers: c.servers,
				options: []estimator.Option{estimator.WithGPUs(source)}})
			for i := range want {
				if d := math.Abs(got[i]-want[i]) / want[i]; !(d <= 1e-4) {
					t.Fatalf("loss of step %d: %v, expected %v", i+1, got[i], want[i])
				}
			}
		})
	}
}
