package distribute

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/runconfig"
)

// open returns the device that the config names or, if it names none, the first of the given GPUs (by default, of
// all), or the host.
func (c Config) open(own ...int) (device.Device, error) {
	name, err := gpus.Parse(c.Device)
	if err != nil {
		return nil, err
	}
	if name.Any && len(own) > 0 {
		name.Number = own[0]
	}
	dev, _, err := c.devices().Open(context.Background(), name)
	if err != nil && c.Device != "" && !errors.Is(err, device.ErrLost) {
		err = runconfig.Mistake(err) // no such device
	}
	return dev, err
}

// localReplicas returns the number of replicas of this process: the config's or, by default, the number of its GPUs, at
// least one. For elastic workers it is one.
func (c Config) localReplicas() int {
	switch {
	case c.Elastic.Enabled():
		return 1
	case c.Replicas > 0 || c.Device != "":
		return max(c.Replicas, 1)
	}
	return max(len(c.ownGPUs()), 1)
}

// devices opens GPUs: this machine's, unless the config has others.
func (c Config) devices() *gpus.Chooser {
	if c.Devices != nil {
		return c.Devices
	}
	return gpus.NewChooser(gpus.CUDA(), slog.Default())
}

// openEach returns a device for each local replica: a GPU each, or the host, or for all the device that the config
// names.
func (c Config) openEach() ([]device.Device, error) {
	n, own := c.localReplicas(), c.ownGPUs()
	if c.Device == "" && len(own) > 0 && n > len(own) {
		return nil, runconfig.Mistake(fmt.Errorf("strategy.replicas is %d, but this process has %d GPUs: lower it, or set strategy.device, to /gpu:%d or /cpu:0, on which all replicas compute then", n, len(own), own[0]))
	}
	var devs []device.Device
	for i := range n {
		dev, err := c.openReplica(i, own, devs)
		if err != nil {
			return nil, errors.Join(err, closeAll(devs))
		}
		devs = append(devs, dev)
	}
	return devs, nil
}

// openReplica returns the device of replica i. If earlier replicas have GPUs, it must have one, too.
func (c Config) openReplica(i int, own []int, before []device.Device) (device.Device, error) {
	switch {
	case c.Device != "" || len(own) == 0 || i == 0:
		return c.open(own[min(i, len(own)):]...)
	case !accelerates(before[0]):
		return device.NewHost(), nil
	}
	dev, _, err := c.devices().Open(context.Background(), gpus.Name{GPU: true, Number: own[i]})
	if err != nil {
		err = fmt.Errorf("replica %d: %w: leave it out of CUDA_VISIBLE_DEVICES, or set strategy.replicas to the number of GPUs that can be used", i, err)
	}
	return dev, err
}

// accelerates reports whether whole programs run on the device and read their variables there.
func accelerates(dev device.Device) bool {
	_, ok := dev.(engine.Accelerator)
	return ok
}

// oneGPU reports whether all devices are the same GPU.
func oneGPU(devs []device.Device) bool {
	for _, d := range devs {
		if gpus.Underlying(d) != gpus.Underlying(devs[0]) {
			return false
		}
	}
	return accelerates(devs[0])
}

func closeAll(devs []device.Device) error {
	var errs []error
	for _, d := range devs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// options returns the options of the strategy's programs.
func (c Config) options() engine.Options {
	o := engine.Options{CheckNumerics: c.CheckNumerics, HardPlacement: c.HardPlacement}
	switch c.Precision {
	case engine.TF32.String():
		o.Precision = engine.TF32
	case engine.BF16Mixed.String():
		o.Precision = engine.BF16Mixed
	}
	return o
}

// Placement says where a program runs.
type Placement struct {
	Device    string // cuda or host
	Precision string // the precision of float32 there
	Steps     int    // operations of each run on the device
	// OnHost has the operations that run on the host because a GPU has no kernel for them: node, op and reason.
	OnHost []string
}

// Placed is a Stepper that reports where its program runs.
type Placed interface{ Placement() Placement }

// placementOf describes the program that does most of the work.
func placementOf(p *engine.Program, dev device.Device) Placement {
	return Placement{Device: dev.Kind(), Precision: p.Precision().String(), Steps: p.DeviceSteps(), OnHost: p.HostSteps()}
}
