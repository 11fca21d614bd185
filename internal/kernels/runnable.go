package kernels

import "runtime/metrics"

// crowd tells whether goroutines wait for a CPU.
type crowd struct{ sample [1]metrics.Sample }

func newCrowd() *crowd {
	return &crowd{[1]metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}}
}

// waits reports whether a goroutine is ready to run and does not.
func (c *crowd) waits() bool {
	metrics.Read(c.sample[:])
	v := c.sample[0].Value
	return v.Kind() == metrics.KindUint64 && v.Uint64() > 0
}
