package costmodel_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/report/costmodel"
)

// A model of 100 MB on 64 workers with links of 10 Gbit/s.
func Example() {
	c := costmodel.Cluster{Network: costmodel.Network{Latency: 50e-6, Bandwidth: 1.25e9}, Workers: 64, Servers: 8}
	j := costmodel.Job{Compute: 0.25, Dense: 100e6, Buckets: 4}
	for _, s := range []costmodel.Strategy{costmodel.RingStrategy, costmodel.AsynchronousStrategy} {
		p, err := costmodel.Predict(s, c, j)
		fmt.Printf("%v: %.0f ms, %.0f steps/s, %s %v\n", s, p.Step*1e3, p.Rate, p.Bound, err)
	}
	// Output:
	// ring all-reduce: 433 ms, 148 steps/s, compute <nil>
	// asynchronous ps: 640 ms, 100 steps/s, server link <nil>
}
