package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// replicated is mirrored, central_storage and, with peers, multi_worker_mirrored. Each
// replica computes the gradients of a batch, and their mean updates every copy of the
// variables.
type replicated struct {
	config   Config
	replicas int
	copies   []*engine.Variables // one per replica, or one for all
	devices  []device.Device     // of the copies
	compute  []device.Device     // of the replicas: the copies' devices unless the copies are central
	peers    lockstep
	workers  *workerGPUs // of multi_worker_mirrored
	pace     pace
	factor   func() float64 // factor on the current step's learning rates; nil: 1
	function int            // index of the next program among the planned ones
}

var _ Strategy = (*replicated)(nil)

// newMirrored returns a replica per GPU, each with a copy of the variables.
func newMirrored(c Config) (Strategy, error) {
	return newInProcess(c, func(devs []device.Device) []device.Device { return devs })
}

// newCentralStorage returns replicas that share variables: on their GPU if they have only one, on the host if they have
// several.
func newCentralStorage(c Config) (Strategy, error) {
	return newInProcess(c, func(devs []device.Device) []device.Device {
		if oneGPU(devs) {
			return devs[:1]
		}
		return []device.Device{device.NewHost()}
	})
}

// newInProcess returns a strategy of this process alone. owners returns where the variables of replicas on given devices are.
func newInProcess(c Config, owners func([]device.Device) []device.Device) (Strategy, error) {
	devs, err := c.openEach()
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", c.Name, err)
	}
	if len(devs) == 1 && accelerates(devs[0]) {
		return newLocal(c, devs[0]) // gradients need not leave it
	}
	return newReplicated(c, devs, owners(devs))
}

// newReplicated returns a strategy with a replica on each device and a copy of the variables on each of owners: the same
// devices, or one for all. The strategy closes the devices.
func newReplicated(c Config, devs, owners []device.Device) (*replicated, error) {
	r := &replicated{config: c, replicas: len(devs), devices: owners, compute: devs, peers: alone{}}
	for _, dev := range owners {
		vars, err := engine.NewVariables(dev)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.copies = append(r.copies, vars)
	}
	return r, nil
}

// owner returns the index of the copy that replica i reads; elsewhere says that the copy is on another device than the replica.
func (r *replicated) owner(i int) (copy int, elsewhere bool) {
	copy = min(i, len(r.copies)-1)
	return copy, r.compute[i].Kind() != r.devices[copy].Kind()
}

// Name is the strategy's name in config files.
func (r *replicated) Name() string { return r.config.Name }

// Replicas counts the replicas of this process.
func (r *replicated) Replicas() Replicas { return Replicas{InSync: r.replicas, Local: r.replicas} }

// Variables sets every copy and reads the first.
func (r *replicated) Variables() Variables {
	return copiedVariables{deviceVariables{r.copies[0]}, r.copies[1:]}
}

// Snapshot copies the variables of the first replica.
func (r *replicated) Snapshot(context.Context) (*Snapshot, error) {
	return deviceVariables{r.copies[0]}.snapshot()
}

// Infer compiles the program for each replica.
func (r *replicated) Infer(p Program) (Stepper, error) {
	s, err := newReplicatedInference(r, p)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", r.Name(), err)
	}
	return s, nil
}

// Train compiles a gradient program per replica and an update per copy.
func (r *replicated) Train(p TrainProgram) (Stepper, error) {
	l, err := newLayout(p)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", r.Name(), err)
	}
	s := &replicatedStepper{strategy: r, train: p, layout: l, sums: newSums(l, r.peers.tasks(), r.function), loss: -1}
	if s.sums.unit = float64(p.Rows); r.config.Elastic.Enabled() {
		s.sums.unit = 1
	}
	for i, f := range p.Fetches {
		if f == p.Loss {
			s.loss = i
		}
	}
	if err := s.compile(); err != nil {
		return nil, errors.Join(fmt.Errorf("strategy %s: %w", r.Name(), err), s.Close())
	}
	return s, nil
}

// Close frees the variables, and closes the devices, which others may still use.
func (r *replicated) Close() error {
	var errs []error
	for _, v := range r.copies {
		errs = append(errs, v.Close())
	}
	return errors.Join(append(errs, closeAll(r.compute))...)
}

// copiedVariables are variables with equal copies on several devices.
type copiedVariables struct {
	deviceVariables
	others []*engine.Variables
}

// Create makes the variable on every device.
func (v copiedVariables) Create(name string, t graph.Type, initial Fill) error {
	if len(v.others) == 0 {
		return v.deviceVariables.Create(name, t, initial)
	}
	return v.each(func(d deviceVariables, value *tensor.Tensor) error { return d.Variables.Create(name, value) }, t, initial)
}

// Set replaces the value on every device.
func (v copiedVariables) Set(name string, value Fill) error {
	t, ok := v.Type(name)
	if !ok || len(v.others) == 0 {
		return v.deviceVariables.Set(name, value)
	}
	return v.each(func(d deviceVariables, value *tensor.Tensor) error { return d.Variables.Set(name, value) }, t, value)
}

func (v copiedVariables) each(put func(deviceVariables, *tensor.Tensor) error, t graph.Type, fill Fill) error {
	value, err := fill.tensor(t)
	if err != nil {
		return err
	}
	for _, d := range append([]*engine.Variables{v.Variables}, v.others...) {
		if err := put(deviceVariables{d}, value); err != nil {
			return err
		}
	}
	return nil
}
