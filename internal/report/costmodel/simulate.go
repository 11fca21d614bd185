package costmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Strategy says how gradients become updates.
type Strategy int

// The strategies of the model.
const (
	RingStrategy Strategy = iota
	SynchronousStrategy
	AsynchronousStrategy
)

// String is the name in plots.
func (s Strategy) String() string {
	switch s {
	case RingStrategy:
		return "ring all-reduce"
	case SynchronousStrategy:
		return "synchronous ps"
	case AsynchronousStrategy:
		return "asynchronous ps"
	}
	return fmt.Sprintf("strategy %d", int(s))
}

// Predict is Ring, Synchronous or Asynchronous.
func Predict(s Strategy, c Cluster, j Job) (Prediction, error) {
	if err := check(s, c, j); err != nil {
		return Prediction{}, err
	}
	switch s {
	case SynchronousStrategy:
		return Synchronous(c, j), nil
	case AsynchronousStrategy:
		return Asynchronous(c, j), nil
	}
	return Ring(c, j), nil
}

// Simulated is the result of a simulation.
type Simulated struct {
	Step    float64 // mean time of a worker's step
	Rate    float64 // steps of all workers per second whose gradients were used
	Dropped float64 // share of the gradients that arrived too late for their step
	Bytes   float64 // sent by all tasks, per step of a worker
}

// Simulate simulates steps for every worker on average; the same seed gives the same result.
func Simulate(s Strategy, c Cluster, j Job, steps int, seed uint64) (Simulated, error) {
	if err := check(s, c, j); err != nil {
		return Simulated{}, err
	}
	if steps < 1 {
		return Simulated{}, fmt.Errorf("simulate %d steps, expected at least 1", steps)
	}
	e := &engine{c: c, random: rand.New(rand.NewPCG(seed, uint64(s)))}
	if s == RingStrategy {
		return simulateRing(e, j, steps), nil
	}
	return simulateServers(e, j, steps, s == SynchronousStrategy), nil
}

// compute draws the time of one forward and backward pass.
func (e *engine) compute(j Job) float64 {
	if j.Jitter == 0 {
		return j.Compute
	}
	sigma := j.sigma()
	return j.Compute * math.Exp(sigma*e.random.NormFloat64()-sigma*sigma/2)
}

func check(s Strategy, c Cluster, j Job) error {
	for name, v := range map[string]float64{"latency": c.Latency, "bandwidth": c.Bandwidth, "shared bandwidth": c.Shared, "compute": j.Compute,
		"forward share": j.Forward, "jitter": j.Jitter, "dense bytes": j.Dense, "row bytes": j.Rows, "add rate": j.Add, "apply rate": j.Apply} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v, expected a finite number of at least 0", name, v)
		}
	}
	switch {
	case s < RingStrategy || s > AsynchronousStrategy:
		return fmt.Errorf("%v, expected one of the three", s)
	case j.Compute+c.Latency+per(j.Dense+j.Rows, c.Bandwidth) == 0:
		return fmt.Errorf("a step takes no time: give compute, latency or bandwidth")
	case c.Workers < 1:
		return fmt.Errorf("%d workers, expected at least 1", c.Workers)
	case s != RingStrategy && c.Servers < 1:
		return fmt.Errorf("%d parameter servers, expected at least 1", c.Servers)
	case j.Backup < 0 || j.Backup >= c.Workers:
		return fmt.Errorf("%d backup workers of %d, expected fewer", j.Backup, c.Workers)
	case j.Forward > 1:
		return fmt.Errorf("forward share %v, expected 0 to 1", j.Forward)
	}
	return nil
}
