package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// maxAhead is how many batches may be on the device at once: one that is being run, and two before their runs.
const maxAhead = 3

// ErrAhead tells that so many batches are ahead already that one has to be run, or dropped, before the next.
var ErrAhead = fmt.Errorf("%d batches are on the device", maxAhead)

// Ahead is a batch that is brought to the device while other batches run.
type Ahead struct {
	p     *Program
	batch int
	feeds []*tensor.Tensor
	set   *feedSet // nil where Go code reads feeds in place
	used  bool
}

// feedSet is device memory for the feeds of one batch.
type feedSet struct {
	buf     device.Buffer
	size    int
	offsets []int
	ready   device.Event // it is uploaded
	taken   device.Event // a run has copied it

	residents []Resident // feeds elsewhere on the device: no others then
}

// aheads are the sets of a program, which go round.
type aheads struct {
	mu     sync.Mutex
	stream device.Stream
	free   []*feedSet
	made   int
	closed bool
}

// Ahead begins to bring a batch to the device, for RunAhead, beside runs that go on: it may be called while another
// goroutine runs the program. Feeds are as for Run, and must stay unchanged until RunAhead or Drop has returned. It
// does not wait; at most two batches can be ahead beside one that runs, a fourth is ErrAhead.
func (p *Program) Ahead(batch int, feeds []*tensor.Tensor) (*Ahead, error) {
	a := &Ahead{p: p, batch: batch, feeds: feeds}
	if batch < 1 {
		return nil, fmt.Errorf("ahead: expected a batch of at least 1 row, got %d", batch)
	}
	if err := p.checkFeeds(batch, feeds); err != nil {
		return nil, err
	}
	if p.lowered == nil {
		return a, nil
	}
	h := &p.lowered.ahead
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.open(p.dev); err != nil {
		return nil, err
	}
	n := len(h.free)
	if n == 0 {
		return nil, ErrAhead
	}
	set := h.free[n-1]
	if err := set.upload(p, h.stream, feeds); err != nil {
		return nil, errors.Join(fmt.Errorf("ahead: %w", err), h.stream.Synchronize())
	}
	h.free, a.set = h.free[:n-1], set
	return a, nil
}

// open makes what Ahead needs when it is first called.
func (h *aheads) open(dev device.Device) (err error) {
	if h.closed {
		return ErrClosed
	}
	if h.stream != nil {
		return nil
	}
	h.stream, err = dev.NewStream()
	for range maxAhead {
		h.free = append(h.free, &feedSet{})
	}
	return err
}

// upload issues the copies of a batch.
func (s *feedSet) upload(p *Program, stream device.Stream, feeds []*tensor.Tensor) error {
	size := 0
	s.offsets = s.offsets[:0]
	for i, f := range p.feeds {
		s.offsets = append(s.offsets, size)
		if p.lowered.host.onDevice[f.op.out[0]] {
			size += alignUp(len(feeds[i].Bytes), acceleratorAlignment)
		}
	}
	if size > s.size {
		if s.buf != nil {
			if s.taken != nil {
				if err := s.taken.Wait(); err != nil {
					return err
				}
			}
			if err := s.buf.Free(); err != nil {
				return err
			}
			s.buf, s.size = nil, 0
		}
		buf, err := p.dev.Alloc(size)
		if err != nil {
			return err
		}
		s.buf, s.size = buf, size
	}
	if s.taken != nil {
		if err := stream.After(s.taken); err != nil {
			return err
		}
	}
	for i, f := range p.feeds {
		if !p.lowered.host.onDevice[f.op.out[0]] || len(feeds[i].Bytes) == 0 {
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

// RunAhead is Run of a batch that was brought to the device before. Each batch can be run once.
func (p *Program) RunAhead(ctx context.Context, a *Ahead) error {
	if a.p != p || a.used {
		return errors.New("run ahead: expected a batch of this program that has not been run")
	}
	a.used = true
	if a.set == nil {
		return p.Run(ctx, a.batch, a.feeds)
	}
	err := p.runBatch(ctx, a.batch, a.feeds, a.set)
	// An error of the copies is the stream's on which they were made.
	return errors.Join(err, a.release())
}

// Drop gives up a batch that is not to be run. It does nothing after RunAhead.
func (a *Ahead) Drop() error {
	if a.used || a.set == nil {
		a.used = true
		return nil
	}
	a.used = true
	return a.release()
}

// release lets the set be used again, once the copies to it are done.
func (a *Ahead) release() error {
	err := a.set.ready.Wait()
	h := &a.p.lowered.ahead
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errors.Join(err, a.set.free())
	}
	h.free = append(h.free, a.set)
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

// take brings a set's feeds to where the program reads them.
func (l *lowered) feedAhead(set *feedSet, feeds []*tensor.Tensor) error {
	p := l.p
	if err := p.stream.After(set.ready); err != nil {
		return fmt.Errorf("ahead: %w", err)
	}
	for i, f := range p.feeds {
		v := f.op.out[0]
		v.mem = f.aligned(feeds[i].Bytes)
		if n := len(feeds[i].Bytes); l.host.onDevice[v] && n > 0 {
			if err := p.stream.Copy(p.arena, v.off, set.buf, set.offsets[i], n); err != nil {
				return fmt.Errorf("feed %s: %w", f.name, err)
			}
		}
	}
	p.shareFeeds()
	var err error
	set.taken, err = p.stream.Record()
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
