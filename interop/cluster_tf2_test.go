package interop_test

import (
	"strings"
	"testing"
)

// threeWorkers is a cluster for programs that lose a worker.
var threeWorkers = map[string]int{"worker": 3, "ps": 1}

func init() {
	clusterCases = append(clusterCases,
		clusterCase{name: "TensorFlow 2", script: "cluster_tf2.py", jobs: oneWorker, ours: []string{"worker ps"}, more: []string{"ps", "worker ps/1"}, compare: nearly, has: "after a failed function"},
		clusterCase{name: "TensorFlow 2, the tutorial", script: "cluster_tf2_tutorial.py", jobs: oneWorker, ours: []string{"worker ps", "ps", "worker ps/1"}, compare: nearly, has: "side-car", long: true},
		clusterCase{name: "TensorFlow 2, a worker killed", drive: killWorker, jobs: threeWorkers, ours: []string{"worker ps"}, compare: exactly, has: "1198"},
		clusterCase{name: "TensorFlow 2, a parameter server killed", drive: killParameterServer, jobs: oneWorker, ours: []string{"worker ps", "ps"}, compare: nearly, has: "true", long: true},
	)
}

// killWorker kills a worker while functions are scheduled, and starts it again: no result is lost.
func killWorker(t *testing.T, c *testCluster) string {
	s := c.script(t, nil, "cluster_tf2_kill.py", c.json(t), c.folder)
	s.until(t, "kill", func(string) bool { return strings.Contains(s.printed(), "kill\n") })
	c.kill("worker/1")
	s.until(t, "start", func(string) bool { return strings.Contains(s.printed(), "start\n") })
	c.start(t, "worker/1")
	return s.wait(t)
}

// killParameterServer kills a parameter server, which ends the program. Run again, the program resumes from its checkpoint.
func killParameterServer(t *testing.T, c *testCluster) string {
	s := c.script(t, nil, "cluster_tf2_restart.py", c.json(t), c.folder)
	s.until(t, "kill", func(string) bool { return strings.Contains(s.printed(), "kill\n") })
	c.kill("ps/0")
	first := s.wait(t)
	c.start(t, "ps/0")
	again := c.script(t, nil, "cluster_tf2_restart.py", c.json(t), c.folder)
	return strings.Replace(first, "kill\n", "", 1) + again.wait(t)
}
