package distribute

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/runconfig"
)

// localRanks are the environment variables by which launchers number the processes of a machine: torchrun, Slurm, Open MPI.
var localRanks = []string{"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"}

// localRank is this process's number on its machine, where each process takes a GPU of its own; 0 where it is unknown.
func localRank() int {
	for _, name := range localRanks {
		if n, err := strconv.ParseUint(os.Getenv(name), 10, 16); err == nil {
			return int(n)
		}
	}
	return 0
}

// open returns the device that the config names or, where it names none, the GPU of that number or the host.
func (c Config) open(number int) (device.Device, error) {
	name, err := gpus.Parse(c.Device)
	if err != nil {
		return nil, err
	}
	if name.Any {
		name.Number = number
	}
	dev, _, err := c.devices().Open(context.Background(), name)
	if err != nil && c.Device != "" && !errors.Is(err, device.ErrLost) {
		err = runconfig.Mistake(err) // there is no such device
	}
	return dev, err
}

// localReplicas is how many replicas mirrored and central_storage have here: as many as the config says or, where it says
// nothing, as there are GPUs.
func (c Config) localReplicas() int {
	if c.Replicas > 0 || c.Device != "" {
		return max(c.Replicas, 1)
	}
	return max(c.devices().Count(), 1)
}

// devices opens GPUs: this machine's, unless the config has others.
func (c Config) devices() *gpus.Chooser {
	if c.Devices != nil {
		return c.Devices
	}
	return gpus.NewChooser(gpus.CUDA(), slog.Default())
}

// openEach returns a device for each local replica of mirrored and central_storage.
func (c Config) openEach() ([]device.Device, error) {
	var devs []device.Device
	for i := range c.localReplicas() {
		dev, err := c.open(i)
		if err != nil {
			return nil, errors.Join(err, closeAll(devs))
		}
		devs = append(devs, dev)
	}
	return devs, nil
}

func closeAll(devs []device.Device) error {
	var errs []error
	for _, d := range devs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// options are the options of the strategy's programs.
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
	Precision string // what float32 is computed with there
	Steps     int    // operations of each run on the device
	// OnHost are the operations that run on the host beside a GPU, which has no kernel for them: node, op and reason.
	OnHost []string
}

// Placed is a Stepper that tells where its program runs.
type Placed interface{ Placement() Placement }

// placementOf describes the program that does most of the work.
func placementOf(p *engine.Program, dev device.Device) Placement {
	return Placement{Device: dev.Kind(), Precision: p.Precision().String(), Steps: p.DeviceSteps(), OnHost: p.HostSteps()}
}
