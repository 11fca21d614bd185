package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
)

// gpu is the device under test.
type gpu struct {
	*cuda.Device
	name     string
	emulated bool
}

// errNoGPU reports that there is no GPU: exit code 3.
var errNoGPU = errors.New("no GPU")

// openGPU opens the first GPU, or an emulated one.
func openGPU(ctx context.Context, emulated bool) (*gpu, error) {
	if !emulated {
		r := cuda.Detect()
		if r.Why != "" {
			return nil, fmt.Errorf("%w: %s", errNoGPU, r.Why)
		}
		d, err := cuda.Open(ctx, 0)
		if err != nil {
			return nil, err // there is a GPU, so failing to use it is an error
		}
		return &gpu{d, fmt.Sprintf("%s, driver of CUDA %s", cuda.Describe(r.GPUs[0]), cuda.VersionText(r.Version)), false}, nil
	}
	f := fake.New(fake.Default)
	m, err := emulate.NewMachine(f, emulate.Default())
	if err != nil {
		return nil, err
	}
	c, err := f.Open(0)
	if err != nil {
		return nil, err
	}
	d, err := cuda.New(ctx, c, cuda.Parts{Name: "the emulated GPU", Compiler: m, Arch: 90})
	if err != nil {
		return nil, err
	}
	return &gpu{d, "the emulated GPU", true}, nil
}

// timed measures work that is done when f returns, with events before and after it on a separate stream. This includes the time of the
// host to start the work and to see its end.
func (g *gpu) timed(f func() error) (took time.Duration, err error) {
	s, err := g.Context().NewStream()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	from, err1 := g.Context().NewEvent(true)
	to, err2 := g.Context().NewEvent(true)
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close(), to.Close()) }()
	if err := errors.Join(s.Record(from), from.Synchronize()); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := f(); err != nil {
		return 0, err
	}
	if err := errors.Join(s.Record(to), to.Synchronize()); err != nil {
		return 0, err
	}
	if g.emulated {
		return time.Since(begun), nil
	}
	return to.Since(from)
}
