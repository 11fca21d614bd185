package engine

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Resident is where a value lies on a program's device.
type Resident struct {
	Buffer device.Buffer // nil: it does not
	Offset int           // bytes
}

// Leave keeps fetches on an accelerator from now on: runs do not bring them to the host, Value gives nil for them, and
// Place says where they are.
func (p *Program) Leave(fetches ...int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lowered == nil {
		return fmt.Errorf("leave fetches on the device: expected an accelerator, got device %s", p.dev.Kind())
	}
	for _, i := range fetches {
		if i < 0 || i >= len(p.fetched) {
			return fmt.Errorf("leave fetch %d on the device: the program has %d", i, len(p.fetched))
		}
	}
	for _, i := range fetches {
		if p.lowered.left == nil {
			p.lowered.left = map[int]bool{}
		}
		p.lowered.left[i] = true
	}
	p.dropResults()
	return nil
}

// left reports whether a fetch stays on the device.
func (p *Program) left(fetch int) bool { return p.lowered != nil && p.lowered.left[fetch] }

// Place returns where fetch i of the last run lies: its bytes are as those of Value would be, until the next run.
func (p *Program) Place(i int) (Resident, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !(i >= 0 && i < len(p.fetched) && p.left(i)) {
		return Resident{}, fmt.Errorf("place of fetch %d: it was not left on the device", i)
	}
	if !p.ready[i].Load() {
		return Resident{}, fmt.Errorf("place of fetch %d: the last run gave no results", i)
	}
	buf, off := p.bufferOf(p.fetched[i])
	return Resident{Buffer: buf, Offset: off}, nil
}

// RunOn is Run with feeds that lie on the accelerator: those of which at has a Buffer, where they must be complete. The
// tensor of such a feed tells type and shape; its bytes are overwritten where a step on the host reads them.
func (p *Program) RunOn(ctx context.Context, batch int, feeds []*tensor.Tensor, at []Resident) error {
	if p.lowered == nil {
		return fmt.Errorf("run on values of the device: expected an accelerator, got device %s", p.dev.Kind())
	}
	if len(at) != len(p.feeds) {
		return fmt.Errorf("run: expected the places of %d feeds, got %d", len(p.feeds), len(at))
	}
	if len(at) == 0 {
		return p.runBatch(ctx, batch, feeds, nil)
	}
	return p.runBatch(ctx, batch, feeds, &feedSet{residents: at})
}

// takeResidents copies feeds on the device to their places, and to the host what steps there read; others are uploaded.
func (l *lowered) takeResidents(at []Resident, feeds []*tensor.Tensor) error {
	p, onHost := l.p, false
	for i, f := range p.feeds {
		v, n := f.op.out[0], len(feeds[i].Bytes)
		v.mem = f.aligned(feeds[i].Bytes)
		if n == 0 {
			continue
		}
		var err error
		if at[i].Buffer == nil {
			if l.host.onDevice[v] {
				err = p.stream.Upload(p.arena, v.off, feeds[i].Bytes)
			}
		} else {
			if l.host.onDevice[v] {
				err = p.stream.Copy(p.arena, v.off, at[i].Buffer, at[i].Offset, n)
			}
			if err == nil && l.readOnHost(v) {
				onHost = true
				err = p.stream.Download(v.mem, at[i].Buffer, at[i].Offset)
			}
		}
		if err != nil {
			return fmt.Errorf("feed %s: %w", f.name, err)
		}
	}
	p.shareFeeds()
	if onHost {
		return p.stream.Synchronize()
	}
	return nil
}

// readOnHost reports whether a step on the host reads a feed.
func (l *lowered) readOnHost(feed *value) bool {
	if len(l.onHost) == 0 {
		return false
	}
	for _, s := range l.p.steps {
		if s.operation != nil {
			continue
		}
		for _, in := range s.op.in {
			if storageOf(in).value() == feed {
				return true
			}
		}
	}
	return false
}
