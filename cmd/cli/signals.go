package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// exitAtOnce is the exit code of a second Ctrl-C.
const exitAtOnce = 130

// withSignals returns a context that ends at SIGTERM or Ctrl-C, so that
// training writes a checkpoint and stops. A second Ctrl-C exits at once.
func withSignals(ctx context.Context, stderr io.Writer) (context.Context, func()) {
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
