package cuda

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/features"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/libcuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
)

// VisibleVariable names CUDA's environment variable that lists the GPUs a process may see.
const VisibleVariable = "CUDA_VISIBLE_DEVICES"

// oldest is the CUDA version that a driver must support: the first with all functions that package libcuda calls.
const oldest = 11040

// Report says what a machine has.
type Report struct {
	GPUs    []driver.Info
	Version int    // newest CUDA version that the driver supports, 1000*major + 10*minor; 0 without a driver
	Why     string // why there is no usable GPU, "" if there is one

	Libraries []Library
}

// Library is a library that was looked for.
type Library struct {
	Name    dylib.Name
	Path    string // "" if not found
	Version int    // the compiler's; 0 if unknown
	Why     string // why it cannot be used
}

// Detect examines this machine. Finding nothing is not an error.
func Detect() Report {
	if !held {
		return Report{Why: features.Need("gpu").Error()}
	}
	d, err := libcuda.Open()
	r := examine(d, err, os.LookupEnv)
	for _, name := range []dylib.Name{dylib.Driver, dylib.NVRTC, dylib.CuBLASLt, dylib.CuDNN, dylib.NCCL} {
		r.Libraries = append(r.Libraries, look(name))
	}
	return r
}

// examine asks a driver, or reports why there is none.
func examine(d driver.Driver, opened error, env func(string) (string, bool)) (r Report) {
	if opened != nil {
		r.Why = why(opened, env)
		return r
	}
	var err error
	if r.Version, err = d.Version(); err != nil {
		r.Why = why(err, env)
		return r
	}
	if r.Version < oldest {
		r.Why = fmt.Sprintf("the driver supports CUDA %s, expected %s or newer: update the driver", VersionText(r.Version), VersionText(oldest))
		return r
	}
	gpus, err := d.Devices()
	if err == nil && len(gpus) == 0 {
		err = driver.ErrNoDevice
	}
	if err != nil {
		r.Why = why(err, env)
		return r
	}
	r.GPUs = gpus
	return r
}

// why puts an error into words. "No GPU" has another meaning if the user has hidden them all.
func why(err error, env func(string) (string, bool)) string {
	visible, set := env(VisibleVariable)
	if errors.Is(err, driver.ErrNoDevice) && set {
		return fmt.Sprintf("%s=%q leaves no GPU visible: unset it, or list the GPUs' numbers", VisibleVariable, visible)
	}
	var missing *dylib.NotFoundError
	if errors.As(err, &missing) {
		return missing.Error()
	}
	return strings.TrimPrefix(err.Error(), driver.ErrUnavailable.Error()+": ")
}

func look(name dylib.Name) Library {
	l := Library{Name: name}
	path, err := dylib.Find(name)
	if err != nil {
		l.Why = err.Error()
		return l
	}
	l.Path = path
	if name != dylib.NVRTC {
		return l
	}
	c, err := nvrtc.Open()
	if err != nil {
		l.Why = err.Error()
		return l
	}
	l.Version = c.Version()
	return l
}

// VersionText formats a CUDA version: 12040 is 12.4.
func VersionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Describe describes a GPU in one line.
func Describe(g driver.Info) string {
	return fmt.Sprintf("%s, sm_%d%d, %.1f GiB, %d multiprocessors", g.Name, g.Major, g.Minor, float64(g.Memory)/(1<<30), g.Multiprocessors)
}
