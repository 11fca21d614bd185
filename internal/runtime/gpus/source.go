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

// ErrNone tells that there is no GPU to use, and that nothing is amiss: no driver, no GPU, or none that is visible.
var ErrNone = errors.New("no GPU")

// Source is the GPUs that this process may use. It is safe for concurrent use.
type Source interface {
	// Count returns how many there are. Its error tells why there are none; it is an ErrNone unless a GPU is there that
	// cannot be used.
	Count() (int, error)
	// Open returns a GPU, by its number below Count. Who opens it closes it.
	Open(ctx context.Context, number int) (device.Device, error)
}

// CUDA is the GPUs of NVIDIA that CUDA_VISIBLE_DEVICES leaves visible.
func CUDA() Source { return machine{} }

type machine struct{}

func (machine) Count() (int, error) {
	all, err := Visible()
	return len(all), err
}

// Visible describes the GPUs of CUDA, by their numbers; its error is that of Source.Count.
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

// share returns a Source that opens each GPU once for all who use it at the same time, and closes it when the last has
// closed it.
func share(s Source) Source { return &shared{Source: s, open: map[int]*sharedGPU{}} }

type shared struct {
	Source
	mu   sync.Mutex
	open map[int]*sharedGPU
}

// sharedGPU is a GPU that is open.
type sharedGPU struct {
	dev   device.Device
	users int
}

// Open returns the GPU that is open already, or opens it.
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
