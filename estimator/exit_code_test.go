package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// TestInterruption: an error that only follows from the end of the context is an interruption, a task's own error is not.
func TestInterruption(t *testing.T) {
	own := errors.New("disk full")
	canceled := status.Error(codes.Canceled, "context canceled")
	lost := fmt.Errorf("ps: %w: %w", distribute.ErrPeerLost, own)
	interrupted := fmt.Errorf("%w at step 3: %w", estimator.ErrInterrupted, own)
	for _, c := range []struct {
		name         string
		err          error
		alive, ended int // the exit codes, before and after the context's end
	}{
		{"nothing", nil, 0, 0},
		{"own", own, 1, 1},
		{"own, wrapped", fmt.Errorf("step 1: %w", own), 1, 1},
		{"canceled", fmt.Errorf("input: %w", context.Canceled), 1, 143},
		{"canceled call", &cluster.PeerError{Err: canceled}, 1, 143},
		{"canceled call, wrapped", fmt.Errorf("waiting: %w", fmt.Errorf("Status: %w", canceled)), 1, 143},
		{"late", context.DeadlineExceeded, 1, 143},
		{"peer lost", lost, 138, 143},
		{"closed", &net.OpError{Op: "read", Err: net.ErrClosed}, 1, 143},
		{"refused call", status.Error(codes.Unauthenticated, "wrong token"), 1, 1},
		{"both", errors.Join(context.Canceled, own), 1, 1},
		{"both, wrapped", fmt.Errorf("step 1: %w", errors.Join(own, context.Canceled)), 1, 1},
		{"only consequences", errors.Join(context.Canceled, lost), 138, 143},
		{"interrupted", interrupted, 143, 143},
		{"interrupted, and the servers are gone", errors.Join(interrupted, lost), 143, 143},
		{"interrupted, and not saved", errors.Join(interrupted, own), 1, 1},
		{"interrupted, and not saved, wrapped", fmt.Errorf("evaluate: %w", errors.Join(interrupted, own)), 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if got := estimator.ExitCode(estimator.Interruption(ctx, c.err)); got != c.alive {
				t.Errorf("exit code %d, expected %d", got, c.alive)
			}
			cancel(errors.New("signal: terminated"))
			err := estimator.Interruption(ctx, c.err)
			if got := estimator.ExitCode(err); got != c.ended {
				t.Errorf("after the end: exit code %d (%v), expected %d", got, err, c.ended)
			}
			if c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%v does not wrap %v", err, c.err)
			}
		})
	}
}
