package cluster

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/tensor"
)

// ReplicaDeviceSetter distributes variables and tables over parameter servers and places all other ops on a worker, like
// tf.train.replica_device_setter. The zero value of a field means its default. All programs of a job must build the same
// variables in the same order, so that they place them alike.
type ReplicaDeviceSetter struct {
	PSTasks  int          // parameter servers; 0: variables are placed like other ops
	PS       string       // default "/job:ps"
	Worker   string       // default "/job:worker"
	Strategy LoadBalancer // default a *RoundRobin
	PSOps    []string     // ops that are placed on parameter servers; default TensorFlow's

	mu    sync.Mutex
	chose map[string]int // tasks by name: repeated calls for a name give the same task
}

// psOps are TensorFlow's STANDARD_PS_OPS (device_setter.py).
var psOps = []string{"Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
	"MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp",
	"BoostedTreesQuantileStreamResourceHandleOp"}

// Device implements Placement.
func (r *ReplicaDeviceSetter) Device(op Op) (string, error) {
	if r.PSTasks < 0 {
		return "", fmt.Errorf("replica device setter: %d parameter servers: expected 0 or more", r.PSTasks)
	}
	ps, worker := or(r.PS, "/job:ps"), or(r.Worker, "/job:worker")
	if r.PSTasks == 0 {
		return "", nil
	}
	on := r.PSOps
	if on == nil {
		on = psOps
	}
	if !slices.Contains(on, op.Type) {
		return worker, nil
	}
	inner, err := device.Parse(op.Device)
	if err != nil {
		return "", err
	}
	at, err := device.Parse(ps)
	if err != nil {
		return "", err
	}
	if at.Job != "" && (inner.Job == "" || inner.Job == at.Job) {
		if at.Task, err = r.task(op); err != nil {
			return "", err
		}
	}
	return at.String(), nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// task chooses a parameter server.
func (r *ReplicaDeviceSetter) task(op Op) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.chose[op.Name]; ok {
		return t, nil
	}
	if r.Strategy == nil {
		r.Strategy = &RoundRobin{}
	}
	t, err := r.Strategy.Next(op, r.PSTasks)
	if err != nil {
		return 0, err
	}
	if t < 0 || t >= r.PSTasks {
		return 0, fmt.Errorf("replica device setter: the strategy chose parameter server %d: expected one of %d", t, r.PSTasks)
	}
	if r.chose == nil {
		r.chose = map[string]int{}
	}
	r.chose[op.Name] = t
	return t, nil
}

// LoadBalancer chooses the parameter server of each variable.
type LoadBalancer interface {
	// Next returns the task for an op, at least 0 and below tasks.
	Next(op Op, tasks int) (int, error)
}

// RoundRobin chooses tasks in turn.
type RoundRobin struct{ next int }

// Next implements LoadBalancer.
func (r *RoundRobin) Next(_ Op, tasks int) (int, error) {
	t := r.next % tasks
	r.next = t + 1
	return t, nil
}

// GreedyLoadBalancing chooses the task with the least load so far, of equal ones the first, like
// tf.contrib.training.GreedyLoadBalancingStrategy.
type GreedyLoadBalancing struct {
	Load  func(Op) (float64, error) // the load of an op, at least 0; nil: ByteSize
	loads []float64
}

// Next implements LoadBalancer.
func (g *GreedyLoadBalancing) Next(op Op, tasks int) (int, error) {
	load := g.Load
	if load == nil {
		load = ByteSize
	}
	n, err := load(op)
	if err == nil && !(n >= 0) {
		err = fmt.Errorf("load %v: expected at least 0", n)
	}
	if err != nil {
		return 0, fmt.Errorf("greedy load balancing: %w", err)
	}
	for len(g.loads) < tasks {
		g.loads = append(g.loads, 0)
	}
	t := 0
	for i := range tasks {
		if g.loads[i] < g.loads[t] {
			t = i
		}
	}
	g.loads[t] += n
	return t, nil
}

// ByteSize is the size of a variable in bytes, a load for GreedyLoadBalancing. It fails for unknown shapes and for strings.
func ByteSize(op Op) (float64, error) {
	size := float64(op.DType.Size())
	if op.DType == tensor.String || size == 0 {
		return 0, fmt.Errorf("%s %q: elements of type %v have no fixed size", op.Type, op.Name, op.DType)
	}
	for _, n := range op.Shape {
		if n < 0 {
			return 0, errors.New(op.Type + " " + op.Name + " has no static shape")
		}
		size *= float64(n)
	}
	return size, nil
}
