package gpus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// ErrNone means that there is no GPU to use, and that nothing is wrong: no driver, no GPU, or no visible one.
var ErrNone = errors.New("no GPU")

// Source is the GPUs that this process may use. It is safe for concurrent use.
type Source interface {
	// Count returns the number of GPUs. Its error says why there are none. The error is ErrNone unless there is a GPU that
	// cannot be used.
	Count() (int, error)
	// Open opens a GPU by its number, which must be below Count. The caller closes it.
	Open(ctx context.Context, number int) (device.Device, error)
}

// CUDA returns the NVIDIA GPUs that CUDA_VISIBLE_DEVICES leaves visible.
func CUDA() Source { return machine{} }

type machine struct{}

func (machine) Count() (int, error) {
	all, err := Visible()
	return len(all), err
}

// Visible describes the GPUs of CUDA, by their numbers. Its error is the error of Source.Count.
func Visible() ([]driver.Info, error) {
	all, err := cuda.GPUs()
	if errors.Is(err, driver.ErrNoDevice) {
		err = fmt.Errorf("%w: %w", ErrNone, err)
	}
	return all, err
}

func (machine) Open(ctx context.Context, number int) (device.Device, error) {
	return cuda.Open(ctx, number)
}

// share returns a Source that opens each GPU once for all simultaneous users, and closes it when the last user has closed
// it.
func share(s Source) Source { return &shared{Source: s, open: map[int]*sharedGPU{}} }

type shared struct {
	Source
	mu   sync.Mutex
	open map[int]*sharedGPU
}

// sharedGPU is an open GPU.
type sharedGPU struct {
	dev   device.Device
	users int
}

// Open returns the GPU if it is already open, or opens it.
func (s *shared) Open(ctx context.Context, number int) (device.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.open[number]
	if g == nil {
		dev, err := s.Source.Open(ctx, number)
		if err != nil {
			return nil, err
		}
		g = &sharedGPU{dev: dev}
		s.open[number] = g
	}
	g.users++
	return handle(g.dev, sync.OnceValue(func() error { return s.close(number, g) })), nil
}

// close ends one use.
func (s *shared) close(number int, g *sharedGPU) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.users--; g.users > 0 {
		return nil
	}
	delete(s.open, number)
	return g.dev.Close()
}
