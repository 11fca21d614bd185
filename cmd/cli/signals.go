package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// exitAtOnce is the exit code of a second Ctrl-C.
const exitAtOnce = 130

// lastResort is what a second Ctrl-C does in place of an exit at once.
type lastResort struct {
	mu sync.Mutex
	do func() // nil: exit at once
}

func (l *lastResort) set(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.do = do
}

// take returns what is to be done, which is done only once.
func (l *lastResort) take() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	do := l.do
	l.do = nil
	return do
}

// onSecondInterrupt makes the first second Ctrl-C call do, until undo is called.
func (a *app) onSecondInterrupt(do func()) (undo func()) {
	a.last.set(do)
	return func() { a.last.set(nil) }
}

// withSignals returns a context that ends at SIGTERM or Ctrl-C, so that
// training writes a checkpoint and stops. A second Ctrl-C exits at once, or does
// what last has.
func withSignals(ctx context.Context, stderr io.Writer, last *lastResort) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	done := make(chan struct{})
	go func() {
		interrupts := 0
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt {
					interrupts++
				}
				if interrupts == 2 {
					if do := last.take(); do != nil {
						interrupts--
						do()
						continue
					}
					fmt.Fprintln(stderr, "goestimator: interrupted twice: exiting at once")
					os.Exit(exitAtOnce)
				}
				cancel(fmt.Errorf("signal: %v", s))
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
