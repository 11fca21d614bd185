package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
)

// checkEvery is how often a sum that goes on is looked at: whether the other processes are still there.
const checkEvery = 5 * time.Millisecond

// abortPatience is how long a GPU may take to end what was aborted.
var abortPatience = 10 * time.Second

// NewSharedMean makes memory for the values on a GPU that takes means with GPUs of other processes, which bring as many of
// the same types. The group is the caller's to close; after a failed Take it is of no more use.
func NewSharedMean(d *Device, values []Value, g peers.Group) (*Mean, error) {
	m, err := newMean([]*Device{d}, values)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mean over GPUs: %w", err), m.Close())
	}
	m.group = g
	return m, nil
}

// await waits for a sum that was issued, unless err says that it was not. A stream that waits for a process which is gone
// does not end by itself: where the group or ctx has ended, it is aborted.
func (m *Mean) await(ctx context.Context, err error) error {
	g := &m.gpus[0]
	if err != nil { // the group may still be issuing it
		err = errors.Join(err, m.group.Abort())
		return g.drain(g.synchronized(), err)
	}
	done := g.synchronized()
	look := time.NewTicker(checkEvery)
	defer look.Stop()
	for err == nil {
		select {
		case err := <-done:
			return err
		case <-look.C:
			err = m.group.Check()
		case <-ctx.Done():
			err = fmt.Errorf("wait for the other processes: %w", context.Cause(ctx))
		}
	}
	return g.drain(done, errors.Join(err, m.group.Abort()))
}

// synchronized tells when the stream's work is over.
func (g *meanGPU) synchronized() <-chan error {
	done := make(chan error, 1)
	go func() { done <- g.stream.Synchronize() }()
	return done
}

// drain waits for the end of what was aborted for why. A GPU that does not end it is lost.
func (g *meanGPU) drain(done <-chan error, why error) error {
	limit := time.NewTimer(abortPatience)
	defer limit.Stop()
	select {
	case after := <-done:
		return errors.Join(why, after)
	case <-limit.C:
		return g.d.abandon(fmt.Errorf("it does not end a sum that was aborted: %w", why))
	}
}

// abandon marks a GPU lost when its calls do not return: nothing waits for it any more, or gives anything of it back.
func (d *Device) abandon(err error) error {
	for _, s := range left(d, d.streams) {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.lost == nil {
		d.lost = &LostError{d.name, err}
	}
	return d.lost
}
