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

// Name is what a user calls a device.
type Name struct {
	GPU    bool
	Number int  // of the GPU
	Any    bool // the first GPU, or the host
}

// Parse reads /gpu:N, /cpu:0, both also as /device:GPU:N and in any case; nothing is Any.
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

// String is the name in full, "" for Any.
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

// NewChooser returns a Chooser of a source's GPUs, and all users of a GPU share it. The log has, once, why a GPU
// that is there is not used.
func NewChooser(s Source, log *slog.Logger) *Chooser {
	return &Chooser{gpus: share(s), log: log, reported: map[string]bool{}}
}

// Open returns the device of that name, which the caller closes, and its name. Any is the GPU of that number if it can be used
// (where there are less GPUs, they go round), else the host. A GPU that was asked for by name and cannot be used is an error.
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

// Count returns how many GPUs can be used, and tells the log what is the matter with one that cannot.
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
