package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// exitAtOnce is the exit code of a second signal.
const exitAtOnce = 130

// oneSignal is the time within which several SIGTERM count as one: timeout(1) sends it to
// its child, and again to the child's process group.
const oneSignal = 100 * time.Millisecond

// lastResort is what a second signal does instead of exiting at once.
type lastResort struct {
	mu   sync.Mutex
	do   func()            // nil: exit at once
	tell func(text string) // nil while there is no log
}

// words sets the function that logs the exit.
func (l *lastResort) words(tell func(text string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell = tell
}

// exit ends the process.
func (l *lastResort) exit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tell != nil {
		l.tell("interrupted twice: exiting at once")
	}
	os.Exit(exitAtOnce)
}

func (l *lastResort) set(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.do = do
}

// take returns do and clears it, so that it runs only once.
func (l *lastResort) take() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	do := l.do
	l.do = nil
	return do
}

// onSecondSignal makes the second signal call do, once, until undo is called.
func (a *app) onSecondSignal(do func()) (undo func()) {
	a.last.set(do)
	return func() { a.last.set(nil) }
}

// withSignals returns a context that ends at SIGTERM or Ctrl-C, so that
// training writes a checkpoint and stops. A second signal calls the function in
// last, or exits at once.
func withSignals(ctx context.Context, last *lastResort) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case s := <-signals:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(fmt.Errorf("signal: %v", s))
				case s == syscall.SIGTERM && time.Since(first) < oneSignal:
				default:
					if do := last.take(); do != nil {
						do()
						continue
					}
					last.exit()
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
