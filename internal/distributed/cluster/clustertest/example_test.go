package clustertest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

// A test in its own package passes Start its *testing.T; here one is run.
func Example() {
	test := func(t *testing.T) {
		worker, ps := cluster.Task{Job: "worker"}, cluster.Task{Job: "ps"}
		c := clustertest.Start(t, nil, worker, ps)
		c.Nodes[ps].Serve()
		if err := c.Nodes[worker].Healthy(context.Background(), ps); err != nil {
			t.Error(err)
		}
	}
	passed := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "TestPing", F: test}})
	fmt.Println("passed:", passed)
	// Output: passed: true
}
