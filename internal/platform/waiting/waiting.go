// Package waiting tells in the log for whom a task waits, as long as it does.
package waiting

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Every is how often a task tells for whom it waits.
const Every = 10 * time.Second

// For is somebody who is waited for, or something.
type For struct {
	Whom string // "/job:ps/task:1 at host:port"
	Why  string // "connection refused"; "": nobody knows
}

// Text is what is told after a while of waiting: "waiting for /job:ps/task:1 at
// host:port (12 s): connection refused".
func (f For) Text(waited time.Duration) string {
	s := fmt.Sprintf("waiting for %s (%d s)", f.Whom, int(waited.Seconds()))
	if f.Why != "" {
		s += ": " + f.Why
	}
	return s
}

// Wait is a wait that its caller looks at again and again.
type Wait struct{ began, told time.Time }

// Begin begins a wait.
func Begin(now time.Time) Wait { return Wait{now, now} }

// Due reports whether it is time to tell, which it is every ten seconds, and how
// long the wait has been.
func (w *Wait) Due(now time.Time) (waited time.Duration, due bool) {
	if now.Sub(w.told) < Every {
		return 0, false
	}
	w.told = now
	return now.Sub(w.began), true
}

// Tell tells, where it is time to, for whom the caller waits.
func (w *Wait) Tell(log *slog.Logger, whom func() []For) {
	if waited, due := w.Due(time.Now()); due {
		tell(log, whom(), waited)
	}
}

func tell(log *slog.Logger, list []For, waited time.Duration) {
	for _, f := range list {
		log.Info(f.Text(waited))
	}
}

// While tells every ten seconds, until stop is called, for whom the caller waits.
// It asks whom each time.
func While(log *slog.Logger, whom func(context.Context) []For) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		tick := time.NewTicker(Every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			list := whom(ctx)
			if ctx.Err() != nil {
				return
			}
			tell(log, list, time.Since(began))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
