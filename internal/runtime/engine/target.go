package engine

import (
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// target is a kind of device as compilation sees it.
type target interface {
	// fuse merges ops that the device can do in one pass, and returns the remaining ops.
	fuse(p *plan, ops []*op) []*op
	// bind compiles a step. If its op needs no step, compute stays nil.
	bind(p *plan, s *step, shared *sharedWeights) error
	// place completes the device's part of the plan: where steps run, and which values its memory holds.
	place(p *plan, vars *Variables) error
	// open makes the executor of the plan.
	open(s *state) (executor, pipeline, error)
}

// targetOf returns the target of a device.
func targetOf(dev device.Device) target {
	if a, ok := dev.(Accelerator); ok {
		return &acceleratorTarget{dev: a}
	}
	return hostTarget{dev}
}

// executor executes a plan on one kind of device. A Program makes one call at a time, and waits for the stream after an error.
type executor interface {
	feeder
	// reserve gives all values storage for batches of up to rows rows. After an error, the state's capacity says for how many
	// rows there still is storage.
	reserve(rows int) error
	// prepare makes sure that there is storage for a batch, and sets all sizes for it.
	prepare(batch int) error
	// runPhase does the steps of a phase and copies its fetches to the host.
	runPhase(i int) error
	// close frees everything that the executor has made.
	close() error
}

// feeder brings the feeds of a run, already checked, to where the steps read them.
type feeder interface {
	feed(feeds []*tensor.Tensor) error
}

// pipeline is how batches, runs and results follow each other on a device without waiting for the host. The program is
// locked during its calls, except upload and resident.
type pipeline interface {
	// upload starts to copy feeds to the device for a later run. It returns nil if feeds are read in place.
	upload(feeds []*tensor.Tensor) (*feedSet, error)
	// issue starts a run of the batch that was fed, and does not wait for it.
	issue() error
	// wait waits for all issued runs and returns their error.
	wait() error
	// resident makes a feeder for values that lie on the device.
	resident(at []Resident) (feeder, error)
	// leave keeps fetches on the device from now on.
	leave(fetches []int) error
}
