package runconfig_test

import (
	"testing"

	"github.com/goestimator/goestimator/runconfig"
)

// TestFromCluster: a cluster in Go is equivalent to one in TF_CONFIG.
func TestFromCluster(t *testing.T) {
	jobs := map[string][]string{"chief": {"a:1"}, "worker": {"b:1", "c:1"}, "ps": {"d:1"}}
	got, err := runconfig.FromCluster(runconfig.NewClusterSpec(jobs), "worker", 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := runconfig.FromTFConfig(`{"cluster":{"chief":["a:1"],"worker":["b:1","c:1"],"ps":["d:1"]},"task":{"type":"worker","index":1}}`)
	if err != nil {
		t.Fatal(err)
	}
	if !got.ClusterSpec().Equal(want.ClusterSpec()) || got.WorkerRank() != want.WorkerRank() || got.TaskType() != want.TaskType() || got.TaskID() != 1 {
		t.Errorf("got rank %d of %v, expected %d of %v", got.WorkerRank(), got.ClusterSpec(), want.WorkerRank(), want.ClusterSpec())
	}
	if _, err := runconfig.FromCluster(runconfig.NewClusterSpec(jobs), "worker", 2); err == nil {
		t.Error("a task that is not in the cluster: expected an error")
	}
}
