package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// maxAhead is how many batches may be on the device at once: one running and two waiting to run.
const maxAhead = 3

// ErrAhead means that the maximum of batches is on the device: run or drop one before bringing the next.
var ErrAhead = fmt.Errorf("%d batches are on the device", maxAhead)

// Ahead is a batch that is uploaded to the device while other batches run.
type Ahead struct {
	p     *Program
	batch int
	feeds []*tensor.Tensor
	set   *feedSet // nil if Go code reads the feeds in place
	used  bool
}

// feedSet is device memory for the feeds of one batch.
type feedSet struct {
	a       *acceleratorExecutor
	buf     device.Buffer
	size    int
	offsets []int
	late    []bool       // feeds that come with the run
	ready   device.Event // done when the batch is uploaded
	taken   device.Event // done when a run has copied the batch
}

// aheads are the feed sets of a program, used in turn.
type aheads struct {
	a      *acceleratorExecutor
	mu     sync.Mutex
	stream device.Stream
	free   []*feedSet
	closed bool
}

// Ahead starts to upload a batch to the device, for RunAhead. It does not wait, and may be called while another goroutine
// runs the program. Feeds are as for Run, and must stay unchanged until RunAhead or Drop has returned. A feed that is not
// known yet is nil; Set provides it later. Besides the batch that runs, two batches can be ahead; another one fails with
// ErrAhead.
func (p *Program) Ahead(batch int, feeds []*tensor.Tensor) (*Ahead, error) {
	a := &Ahead{p: p, batch: batch, feeds: feeds}
	if batch < 1 {
		return nil, fmt.Errorf("ahead: expected a batch of at least 1 row, got %d", batch)
	}
	if slices.Contains(feeds, nil) {
		a.feeds = slices.Clone(feeds)
	}
	if err := p.checkEarly(batch, feeds); err != nil {
		return nil, err
	}
	set, err := p.pipe.upload(feeds)
	if err != nil {
		return nil, err
	}
	a.set = set
	return a, nil
}

// Set provides a feed that was nil. It must be called before the run, and t must stay unchanged until the run's end.
func (a *Ahead) Set(feed int, t *tensor.Tensor) { a.feeds[feed] = t }

func (a *acceleratorExecutor) upload(feeds []*tensor.Tensor) (*feedSet, error) {
	h := &a.ahead
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.open(); err != nil {
		return nil, err
	}
	n := len(h.free)
	if n == 0 {
		return nil, ErrAhead
	}
	set := h.free[n-1]
	if err := set.upload(h.stream, feeds); err != nil {
		return nil, errors.Join(fmt.Errorf("ahead: %w", err), h.stream.Synchronize())
	}
	h.free = h.free[:n-1]
	return set, nil
}

// open makes the stream and the sets on first use.
func (h *aheads) open() (err error) {
	if h.closed {
		return ErrClosed
	}
	if h.stream != nil {
		return nil
	}
	h.stream, err = h.a.dev.NewStream()
	for range maxAhead {
		h.free = append(h.free, &feedSet{a: h.a})
	}
	return err
}

// upload issues the copies of a batch.
func (s *feedSet) upload(stream device.Stream, feeds []*tensor.Tensor) error {
	size := 0
	s.offsets, s.late = s.offsets[:0], s.late[:0]
	for i, f := range s.a.feeds {
		s.offsets, s.late = append(s.offsets, size), append(s.late, feeds[i] == nil)
		if !s.late[i] && s.a.onDevice[f.op.out[0]] {
			size += alignUp(len(feeds[i].Bytes), acceleratorAlignment)
		}
	}
	if err := s.reserve(size); err != nil {
		return err
	}
	if s.taken != nil {
		if err := stream.After(s.taken); err != nil {
			return err
		}
	}
	for i, f := range s.a.feeds {
		if s.late[i] || !s.a.onDevice[f.op.out[0]] || len(feeds[i].Bytes) == 0 {
			continue
		}
		if err := stream.Upload(s.buf, s.offsets[i], feeds[i].Bytes); err != nil {
			return fmt.Errorf("feed %s: %w", f.name, err)
		}
	}
	var err error
	s.ready, err = stream.Record()
	return err
}

// reserve makes the set large enough, once the previous run has copied it.
func (s *feedSet) reserve(size int) (err error) {
	if size <= s.size {
		return nil
	}
	if s.buf != nil && s.taken != nil {
		if err := s.taken.Wait(); err != nil {
			return err
		}
	}
	if err := s.free(); err != nil {
		return err
	}
	if s.buf, err = s.a.dev.Alloc(size); err != nil {
		return err
	}
	s.size = size
	return nil
}

// RunAhead is Run for a batch that Ahead has brought to the device. Each batch can be run once.
func (p *Program) RunAhead(ctx context.Context, a *Ahead) error {
	if a.p != p || a.used {
		return errors.New("run ahead: expected a batch of this program that has not been run")
	}
	a.used = true
	if a.set == nil {
		return p.Run(ctx, a.batch, a.feeds)
	}
	err := p.runBatch(ctx, a.batch, a.feeds, a.set)
	// An error of the uploads surfaces in their own stream, by release.
	return errors.Join(err, a.set.release())
}

// Drop gives up a batch without running it. It does nothing after RunAhead.
func (a *Ahead) Drop() error {
	if a.used || a.set == nil {
		a.used = true
		return nil
	}
	a.used = true
	return a.set.release()
}

// release lets the set be used again, once the copies to it are done.
func (s *feedSet) release() error {
	err := s.ready.Wait()
	h := &s.a.ahead
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errors.Join(err, s.free())
	}
	h.free = append(h.free, s)
	return err
}

func (s *feedSet) free() error {
	if s.buf == nil {
		return nil
	}
	err := s.buf.Free()
	s.buf, s.size = nil, 0
	return err
}

// feed copies the set's feeds to where the program reads them.
func (s *feedSet) feed(feeds []*tensor.Tensor) error {
	a := s.a
	if err := a.stream.After(s.ready); err != nil {
		return fmt.Errorf("ahead: %w", err)
	}
	for i, f := range a.feeds {
		v := f.op.out[0]
		v.mem = f.aligned(feeds[i].Bytes)
		n := len(feeds[i].Bytes)
		if !a.onDevice[v] || n == 0 {
			continue
		}
		var err error
		if s.late[i] {
			err = a.stream.Upload(a.arena, v.off, feeds[i].Bytes)
		} else {
			err = a.stream.Copy(a.arena, v.off, s.buf, s.offsets[i], n)
		}
		if err != nil {
			return fmt.Errorf("feed %s: %w", f.name, err)
		}
	}
	a.shareFeeds()
	var err error
	s.taken, err = a.stream.Record()
	return err
}

func (h *aheads) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.stream == nil {
		return nil
	}
	errs := []error{h.stream.Synchronize()}
	for _, s := range h.free {
		errs = append(errs, s.free())
	}
	if c, ok := h.stream.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	h.free = nil
	return errors.Join(errs...)
}
