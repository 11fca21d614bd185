package engine

import (
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// target is a kind of device as compilation sees it.
type target interface {
	// fuse merges ops into those that the device does in one pass, and returns the ops that are left.
	fuse(p *plan, ops []*op) []*op
	// bind compiles a step, which has no compute afterwards where its op needs none.
	bind(p *plan, s *step, shared *sharedWeights) error
	// place completes the plan with what depends on the device: where steps run, and which values its memory holds.
	place(p *plan, vars *Variables) error
	// open makes what does the plan.
	open(s *state) (executor, pipeline, error)
}

// targetOf returns the target of a device.
func targetOf(dev device.Device) target {
	if a, ok := dev.(Accelerator); ok {
		return &acceleratorTarget{dev: a}
	}
	return hostTarget{dev}
}

// executor does a plan on one kind of device. A Program calls it, one call at a time, and waits for its stream after an error.
type executor interface {
	feeder
	// reserve gives all values storage for batches of up to so many rows. After an error the capacity of its state is what
	// there is, 0 for nothing.
	reserve(rows int) error
	// prepare makes sure that a batch has storage, and sets all sizes for it.
	prepare(batch int) error
	// runPhase does the steps of a phase and brings its fetches to the host.
	runPhase(i int) error
	// close frees all that the executor has made.
	close() error
}

// feeder brings the feeds of a run, which fit the plan, to where its steps read them.
type feeder interface {
	feed(feeds []*tensor.Tensor) error
}

// pipeline is how batches, runs and results follow each other on a device without waiting for the host. The program is
// locked, but for upload and resident.
type pipeline interface {
	// upload begins to bring feeds to the device for a later run; nil where they are read in place.
	upload(feeds []*tensor.Tensor) (*feedSet, error)
	// issue begins a run of the batch that was fed, and does not wait for it.
	issue() error
	// wait returns what the runs that were issued have come to, when they are done.
	wait() error
	// resident makes a feeder of values that lie on the device.
	resident(at []Resident) (feeder, error)
	// leave keeps fetches on the device from now on.
	leave(fetches []int) error
}
