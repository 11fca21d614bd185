package interop_test

import (
	"strings"
	"testing"
)

// threeWorkers is the cluster of programs that lose a worker.
var threeWorkers = map[string]int{"worker": 3, "ps": 1}

func init() {
	clusterCases = append(clusterCases, clusterCase{name: "TensorFlow 2, a worker killed", drive: killWorker, jobs: threeWorkers, ours: []string{"worker ps"}, compare: exactly, has: "1198"})
}

// killWorker kills a worker while functions are scheduled, and starts it again: all results are there.
func killWorker(t *testing.T, c *testCluster) string {
	s := host(t).start(t, nil, "cluster_tf2_kill.py", c.json(t), c.folder)
	s.until(t, "kill", func(string) bool { return strings.Contains(s.printed(), "kill\n") })
	c.kill("worker/1")
	s.until(t, "start", func(string) bool { return strings.Contains(s.printed(), "start\n") })
	c.start(t, "worker/1")
	return s.wait(t)
}
