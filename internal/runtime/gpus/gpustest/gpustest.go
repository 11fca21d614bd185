// Package gpustest has GPUs for tests, emulated by the processor.
package gpustest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
)

// GPUs is a gpus.Source of emulated GPUs.
type GPUs struct {
	Driver  *fake.Driver // lets tests inject errors
	Lost    bool         // the test loses a GPU, which then frees nothing
	machine *emulate.Machine
	n       int
}

var _ gpus.Source = (*GPUs)(nil)

// Emulated returns n GPUs, which must be closed before the test ends. It skips the test if there is no C++ compiler, or if
// the compiled code cannot be loaded.
func Emulated(tb testing.TB, n int) *GPUs {
	tb.Helper()
	var infos []driver.Info
	for range n {
		infos = append(infos, fake.Default)
	}
	g := &GPUs{Driver: fake.New(infos...), n: n}
	var err error
	if g.machine, err = emulate.NewMachine(g.Driver, emulate.Default()); err == nil {
		var d device.Device
		if d, err = g.Open(tb.Context(), 0); err == nil {
			err = d.Close()
		}
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, dylib.ErrNoLoader) {
		tb.Skipf("skipped: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := g.Driver.Leaks(); err != nil && !g.Lost {
			tb.Error(err)
		}
	})
	return g
}

// Count implements gpus.Source.
func (g *GPUs) Count() (int, error) { return g.n, nil }

// Open implements gpus.Source.
func (g *GPUs) Open(ctx context.Context, number int) (device.Device, error) {
	c, err := g.Driver.Open(number)
	if err != nil {
		return nil, err
	}
	d, err := cuda.New(ctx, c, cuda.Parts{Name: fmt.Sprintf("emulated GPU %d", number), Compiler: g.machine, Arch: 90})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return d, nil
}
