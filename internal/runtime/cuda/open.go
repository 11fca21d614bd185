package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/platform/features"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
)

// Open opens a GPU by its place among the GPUs that CUDA_VISIBLE_DEVICES leaves visible. If the machine or the binary cannot
// use GPUs, its error says why: driver.ErrUnavailable, driver.ErrNoDevice, or a *dylib.NotFoundError for the CUDA compiler.
// The first process on a machine compiles the kernels, which takes seconds; later processes find them in the user's cache
// directory.
func Open(ctx context.Context, ordinal int) (*Device, error) {
	return OpenWith(ctx, ordinal, AllLibraries)
}

// OpenWith is Open with a choice of libraries, for tests that own kernels and NVIDIA's give the same results.
func OpenWith(ctx context.Context, ordinal int, use Libraries) (*Device, error) {
	if !held {
		return nil, fmt.Errorf("GPU %d: %w: %w", ordinal, driver.ErrNoDevice, features.Need("gpu"))
	}
	d, err := openDriver()
	r := examine(d, err, os.LookupEnv)
	if r.Why != "" {
		return nil, fmt.Errorf("GPU %d: %w", ordinal, &reason{r.Why, err})
	}
	if ordinal < 0 || ordinal >= len(r.GPUs) {
		return nil, fmt.Errorf("GPU %d: expected 0 <= number < %d: %w", ordinal, len(r.GPUs), driver.ErrNoDevice)
	}
	compiler, err := nvrtc.Open()
	if err != nil {
		return nil, fmt.Errorf("GPU %d: kernels are compiled for it, for which it takes NVRTC: %w", ordinal, err)
	}
	c, err := d.Open(ordinal)
	if err != nil {
		return nil, fmt.Errorf("GPU %d: %w", ordinal, err)
	}
	p := Parts{Name: fmt.Sprintf("GPU %d (%s)", ordinal, r.GPUs[ordinal].Name), Compiler: nvrtc.NewCache(compiler, nvrtc.DefaultDir()),
		Arch: kernels.ArchOf(r.GPUs[ordinal], compiler.Version())}
	opened, err := New(ctx, c, p)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := opened.useLibraries(use); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// reason is an error with the text of Report.Why.
type reason struct {
	why string
	err error
}

func (r *reason) Error() string { return r.why }

// Unwrap returns the cause. If the driver returned no error, there is no GPU.
func (r *reason) Unwrap() error {
	if r.err == nil {
		return driver.ErrNoDevice
	}
	return r.err
}
