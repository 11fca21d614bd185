// Package waiting logs what a task waits for, as long as it waits.
package waiting

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Interval is the time between two reports.
const Interval = 10 * time.Second

// Target is a task, or something else, that someone waits for.
type Target struct {
	Name   string // "/job:ps/task:1 at host:port"
	Reason string // "connection refused"; "": unknown
}

// Text is the log line after a while of waiting: "waiting for /job:ps/task:1 at
// host:port (12 s): connection refused".
func (f Target) Text(waited time.Duration) string {
	s := fmt.Sprintf("waiting for %s (%d s)", f.Name, int(waited.Seconds()))
	if f.Reason != "" {
		s += ": " + f.Reason
	}
	return s
}

// Wait is a wait that its caller polls.
type Wait struct{ began, reported time.Time }

// Begin begins a wait.
func Begin(now time.Time) Wait { return Wait{now, now} }

// Due reports whether a report is due, as it is every Interval, and how long the
// wait has been.
func (w *Wait) Due(now time.Time) (waited time.Duration, due bool) {
	if now.Sub(w.reported) < Interval {
		return 0, false
	}
	w.reported = now
	return now.Sub(w.began), true
}

// Report logs the targets that the caller waits for, if a report is due.
func (w *Wait) Report(log *slog.Logger, targets func() []Target) {
	if waited, due := w.Due(time.Now()); due {
		report(log, targets(), waited)
	}
}

func report(log *slog.Logger, list []Target, waited time.Duration) {
	for _, f := range list {
		log.Info(f.Text(waited))
	}
}

// ReportEvery logs the targets that the caller waits for, every Interval until stop
// is called. It calls targets each time.
func ReportEvery(log *slog.Logger, targets func(context.Context) []Target) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		tick := time.NewTicker(Interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			list := targets(ctx)
			if ctx.Err() != nil {
				return
			}
			report(log, list, time.Since(began))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
