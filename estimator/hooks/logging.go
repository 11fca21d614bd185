package hooks

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
)

// Logging writes a line every so many steps: the step, the values of scalar
// tensors, examples per second and the learning rate, for example
// "step=500 loss=0.3412 examples/sec=51234 learning_rate=0.001".
type Logging struct {
	Base
	log     *slog.Logger
	tensors []string
	every   int64
	now     func() time.Time

	train    bool
	runs     int64 // in evaluation and prediction, where the global step stands still
	begun    bool
	examples int64
	since    time.Time
}

var (
	_ Hook        = (*Logging)(nil)
	_ Prioritized = (*Logging)(nil)
	_ Selective   = (*Logging)(nil)
)

// NewLogging returns a hook that logs the first step and then every n-th.
func NewLogging(log *slog.Logger, every int64, tensors ...string) *Logging {
	return &Logging{log: log, tensors: tensors, every: every, now: time.Now}
}

// Priority is that of writers.
func (h *Logging) Priority() int { return PriorityWrite }

// Begin asks for the tensors and, in training, for the learning rate.
func (h *Logging) Begin(s Setup) error {
	if h.every <= 0 {
		return fmt.Errorf("logging: must log every n > 0 steps, given: %d", h.every)
	}
	h.train, h.runs, h.begun, h.examples = s.Mode() == "train", 0, false, 0
	if h.train {
		if err := s.Fetch("learning_rate"); err != nil {
			return err
		}
	}
	for _, t := range h.tensors {
		if err := s.Fetch(t); err != nil {
			return err
		}
	}
	return nil
}

// Reads reports whether the next step is logged.
func (h *Logging) Reads(r Run) bool { return !h.train || !h.begun || (r.GlobalStep()+1)%h.every == 0 }

// AfterRun logs if it is time.
func (h *Logging) AfterRun(_ context.Context, r Run) error {
	h.examples += int64(r.BatchSize())
	at := r.GlobalStep()
	if !h.train {
		at, h.runs = h.runs, h.runs+1
	}
	if h.begun && at%h.every != 0 {
		return nil
	}
	return h.line(r)
}

func (h *Logging) line(r Run) error {
	var b strings.Builder
	b.WriteString("step=" + strconv.FormatInt(r.GlobalStep(), 10))
	for _, t := range h.tensors {
		v, err := r.Value(t)
		if err != nil {
			return err
		}
		if v.Len() > 0 {
			b.WriteString(" " + t + "=" + number(v.Float(0)))
		}
	}
	now := h.now()
	if secs := now.Sub(h.since).Seconds(); h.begun && secs > 0 {
		b.WriteString(" examples/sec=" + strconv.FormatInt(int64(math.Round(float64(h.examples)/secs)), 10))
	}
	if v, err := r.Value("learning_rate"); err == nil {
		b.WriteString(" learning_rate=" + number(v.Float(0)))
	}
	h.begun, h.examples, h.since = true, 0, now
	h.log.Info(b.String())
	return nil
}

// number formats a value for a person: four significant digits.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
