package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
)

// checkEvery is the interval at which a running sum checks that the other processes are still there.
const checkEvery = 5 * time.Millisecond

// abortPatience is how long a GPU may take to end aborted work.
var abortPatience = 10 * time.Second

// NewSharedMean allocates memory for the values on GPUs that take means with other processes, which must have the same number of
// values of the same types. The group must have joined the same GPUs. The caller closes it; after a failed Take it is unusable.
func NewSharedMean(devices []*Device, values []Value, g peers.Group) (*Mean, error) {
	m, err := newMean(devices, values)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mean over GPUs: %w", err), m.Close())
	}
	m.group = g
	return m, nil
}

// await waits for a sum that was issued, unless err says that it was not. A stream that waits for a vanished process does not
// end by itself, so await aborts the group if it fails or ctx ends.
func (m *Mean) await(ctx context.Context, err error) error {
	if err != nil { // the group may still be issuing the sum
		err = errors.Join(err, m.group.Abort())
		return m.drain(m.synchronized(), err)
	}
	done := m.synchronized()
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
	return m.drain(done, errors.Join(err, m.group.Abort()))
}

// synchronized returns a channel that gets the error when the work of all GPUs is over.
func (m *Mean) synchronized() <-chan error {
	done, streams := make(chan error, 1), make([]*Stream, len(m.gpus))
	for i := range m.gpus {
		streams[i] = m.gpus[i].stream
	}
	go func() {
		var errs []error
		for _, s := range streams {
			errs = append(errs, s.Synchronize())
		}
		done <- errors.Join(errs...)
	}()
	return done
}

// drain waits for the end of work that was aborted because of why. GPUs that do not end it are lost.
func (m *Mean) drain(done <-chan error, why error) error {
	limit := time.NewTimer(abortPatience)
	defer limit.Stop()
	select {
	case after := <-done:
		return errors.Join(why, after)
	case <-limit.C:
		var errs []error
		for i := range m.gpus {
			errs = append(errs, m.gpus[i].d.abandon(fmt.Errorf("it does not end a sum that was aborted: %w", why)))
		}
		return errors.Join(errs...)
	}
}

// abandon marks a GPU lost when its calls do not return: nothing waits for it or frees its memory any more.
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
