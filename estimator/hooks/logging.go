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

// Logging writes a line at intervals of steps: the step, the values of scalar tensors,
// examples per second, the share of the time that the loop waited for its input, and
// the learning rate, for example
// "step=500 loss=0.3412 examples/sec=51234 data_wait=0.012 learning_rate=0.001". If the loop
// waited for more than a fifth of the last second or more, bottleneck names the input's slowest step.
type Logging struct {
	Base
	log     *slog.Logger
	attrs   bool
	tensors []string
	every   int64
	now     func() time.Time

	mode     string
	runs     int64 // counts steps in evaluation and prediction, where the global step does not change
	begun    bool
	last     int64 // the step of the last line
	examples int64
	since    time.Time
	waits    dataWait
}

var (
	_ Hook        = (*Logging)(nil)
	_ Prioritized = (*Logging)(nil)
	_ Selective   = (*Logging)(nil)
)

// NewLogging returns a hook that logs the first step and then every n-th one. If other tasks make the n-th one, it logs
// the next step of this task.
func NewLogging(log *slog.Logger, every int64, tensors ...string) *Logging {
	return &Logging{log: log, tensors: tensors, every: every, now: time.Now, waits: dataWait{now: time.Now}}
}

// Structured makes h log for programs: the message is the loop's mode ("train"), and
// the step and the values are attributes.
func (h *Logging) Structured() *Logging {
	h.attrs = true
	return h
}

// Priority is PriorityWrite.
func (h *Logging) Priority() int { return PriorityWrite }

// Begin asks for the tensors and, in training, for the learning rate.
func (h *Logging) Begin(s Setup) error {
	if h.every <= 0 {
		return fmt.Errorf("logging: must log every n > 0 steps, given: %d", h.every)
	}
	h.mode, h.runs, h.begun, h.examples = s.Mode(), 0, false, 0
	if h.trains() {
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

// PassesMultiple reports whether there is a multiple of every between two steps of a loop, the second included: a loop whose
// global step other tasks advance, too, does not see all steps. After a loss, a loop goes on from an earlier step.
func PassesMultiple(last, step, every int64) bool { return step/every != last/every }

func (h *Logging) trains() bool { return h.mode == "train" }

// Reads reports whether the next step is logged.
func (h *Logging) Reads(r Run) bool {
	return !h.trains() || !h.begun || PassesMultiple(h.last, r.GlobalStep()+1, h.every)
}

// AfterRun logs if it is time.
func (h *Logging) AfterRun(_ context.Context, r Run) error {
	h.examples += int64(r.BatchSize())
	at := r.GlobalStep()
	if !h.trains() {
		at, h.runs = h.runs, h.runs+1
	}
	if h.begun && !PassesMultiple(h.last, at, h.every) {
		return nil
	}
	h.last = at
	return h.line(r)
}

func (h *Logging) line(r Run) error {
	values := []slog.Attr{slog.Int64("step", r.GlobalStep())}
	for _, t := range h.tensors {
		v, err := r.Value(t)
		if err != nil {
			return err
		}
		if v.Len() > 0 {
			values = append(values, slog.Float64(t, v.Float(0)))
		}
	}
	now := h.now()
	if secs := now.Sub(h.since).Seconds(); h.begun && secs > 0 {
		values = append(values, slog.Int64("examples/sec", int64(math.Round(float64(h.examples)/secs))))
		if share, bottleneck, ok := h.waits.since(r); ok {
			values = append(values, slog.Float64("data_wait", share))
			if bottleneck != "" {
				values = append(values, slog.String("bottleneck", bottleneck))
			}
		}
	} else {
		h.waits.begin(r)
	}
	if v, err := r.Value("learning_rate"); err == nil {
		values = append(values, slog.Float64("learning_rate", v.Float(0)))
	}
	h.begun, h.examples, h.since = true, 0, now
	if h.attrs {
		h.log.LogAttrs(context.Background(), slog.LevelInfo, h.mode, values...)
	} else {
		h.log.Info(Line(values))
	}
	return nil
}

// Line formats values as a line for a human reader, numbers with four significant digits: "step=500 loss=0.3412".
func Line(values []slog.Attr) string {
	var parts []string
	for _, v := range values {
		value := v.Value.String()
		if v.Value.Kind() == slog.KindFloat64 {
			value = number(v.Value.Float64())
		}
		parts = append(parts, v.Key+"="+value)
	}
	return strings.Join(parts, " ")
}

// number formats a value with four significant digits.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
