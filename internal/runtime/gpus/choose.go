package gpus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

// Name is a user's name for a device.
type Name struct {
	GPU    bool
	Number int  // the GPU's number
	Any    bool // GPU Number, modulo the number of GPUs, or else the host
}

// Parse reads /gpu:N or /cpu:0, in any case and also as /device:GPU:N. An empty text is Any.
func Parse(text string) (Name, error) {
	if text == "" {
		return Name{Any: true}, nil
	}
	name := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(text), "/device:"), "/")
	if name == "cpu:0" {
		return Name{}, nil
	}
	if digits, ok := strings.CutPrefix(name, "gpu:"); ok {
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil {
			return Name{GPU: true, Number: int(n)}, nil
		}
	}
	return Name{}, fmt.Errorf("device %q: expected /gpu:N, /cpu:0, or nothing for the first GPU where there is one", text)
}

// String returns the short name, such as /gpu:0, and "" for Any.
func (n Name) String() string {
	switch {
	case n.Any:
		return ""
	case n.GPU:
		return fmt.Sprintf("/gpu:%d", n.Number)
	}
	return "/cpu:0"
}

// Chooser opens devices. It is safe for concurrent use.
type Chooser struct {
	gpus     Source
	log      *slog.Logger
	mu       sync.Mutex
	reported map[string]bool
}

// NewChooser returns a Chooser for a source's GPUs. All users of a GPU share it. If an existing GPU cannot be used, the
// reason is logged once.
func NewChooser(s Source, log *slog.Logger) *Chooser {
	return &Chooser{gpus: share(s), log: log, reported: map[string]bool{}}
}

// Open returns the device of that name and its full name. The caller closes the device. Any is the GPU of that number, modulo the
// number of GPUs, if it can be used, else the host. It is an error if a GPU asked for by name cannot be used.
func (c *Chooser) Open(ctx context.Context, n Name) (device.Device, Name, error) {
	host := Name{}
	switch {
	case n.GPU:
		dev, err := c.gpus.Open(ctx, n.Number)
		if err != nil {
			return nil, n, fmt.Errorf("device %s cannot be used: %w", n, err)
		}
		return dev, n, nil
	case !n.Any:
		return device.NewHost(), host, nil
	}
	count := c.Count()
	if count == 0 {
		return device.NewHost(), host, nil
	}
	gpu := Name{GPU: true, Number: n.Number % count}
	dev, err := c.gpus.Open(ctx, gpu.Number)
	if ctx.Err() != nil {
		return nil, gpu, context.Cause(ctx)
	}
	if err != nil {
		c.warn(err)
		return device.NewHost(), host, nil
	}
	return dev, gpu, nil
}

// Count returns how many GPUs can be used, and logs why a GPU cannot.
func (c *Chooser) Count() int {
	n, err := c.gpus.Count()
	if err != nil && !errors.Is(err, ErrNone) {
		c.warn(err)
	}
	return n
}

func (c *Chooser) warn(err error) {
	c.mu.Lock()
	known := c.reported[err.Error()]
	c.reported[err.Error()] = true
	c.mu.Unlock()
	if !known {
		c.log.Warn("the GPU is not used: computing on the host", "why", err)
	}
}
