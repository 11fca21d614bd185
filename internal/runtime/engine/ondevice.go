package engine

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Resident is where a value lies on a program's device.
type Resident struct {
	Buffer device.Buffer // nil if the value is not there
	Offset int           // bytes
}

// Leave keeps fetches on an accelerator from now on: runs do not copy them to the host, Value returns nil for them, and
// Place returns where they are.
func (p *Program) Leave(fetches ...int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pipe.leave(fetches); err != nil {
		return err
	}
	p.dropResults()
	return nil
}

func (a *acceleratorExecutor) leave(fetches []int) error {
	for _, i := range fetches {
		if i < 0 || i >= len(a.fetched) {
			return fmt.Errorf("leave fetch %d on the device: the program has %d", i, len(a.fetched))
		}
	}
	if a.left == nil {
		a.left = map[int]bool{}
	}
	for _, i := range fetches {
		a.left[i] = true
	}
	return nil
}

// Place returns where fetch i of the last run lies, until the next run. Its bytes are what Value would return.
func (p *Program) Place(i int) (Resident, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !(i >= 0 && i < len(p.fetched) && p.left[i]) {
		return Resident{}, fmt.Errorf("place of fetch %d: it was not left on the device", i)
	}
	if !p.ready[i].Load() {
		return Resident{}, fmt.Errorf("place of fetch %d: the last run gave no results", i)
	}
	buf, off := p.bufferOf(p.fetched[i])
	return Resident{Buffer: buf, Offset: off}, nil
}

// RunOn is Run with some feeds already on the accelerator: all those for which at has a Buffer. The tensor of such a feed
// has the type and shape; RunOn overwrites its bytes if a step on the host reads the feed.
func (p *Program) RunOn(ctx context.Context, batch int, feeds []*tensor.Tensor, at []Resident) error {
	from, err := p.pipe.resident(at)
	if err != nil {
		return err
	}
	return p.runBatch(ctx, batch, feeds, from)
}

func (a *acceleratorExecutor) resident(at []Resident) (feeder, error) {
	if len(at) != len(a.feeds) {
		return nil, fmt.Errorf("run: expected the places of %d feeds, got %d", len(a.feeds), len(at))
	}
	return residentFeeds{a, at}, nil
}

// residentFeeds are feeds, some already on the device. The others are uploaded.
type residentFeeds struct {
	a  *acceleratorExecutor
	at []Resident
}

// feed copies feeds to their places, and feeds that steps on the host read to the host.
func (r residentFeeds) feed(feeds []*tensor.Tensor) error {
	a, onHost := r.a, false
	for i, f := range a.feeds {
		f.op.out[0].mem = f.aligned(feeds[i].Bytes)
		if len(feeds[i].Bytes) == 0 {
			continue
		}
		read, err := r.copy(i, f.op.out[0], feeds[i].Bytes)
		if err != nil {
			return fmt.Errorf("feed %s: %w", f.name, err)
		}
		onHost = onHost || read
	}
	a.shareFeeds()
	if onHost {
		return a.stream.Synchronize()
	}
	return nil
}

// copy issues the copies of feed i, and reports whether it copies the feed to the host.
func (r residentFeeds) copy(i int, v *value, bytes []byte) (onHost bool, err error) {
	a, from := r.a, r.at[i]
	switch {
	case from.Buffer == nil && a.onDevice[v]:
		return false, a.stream.Upload(a.arena, v.off, bytes)
	case from.Buffer == nil:
		return false, nil
	case a.onDevice[v]:
		if err := a.stream.Copy(a.arena, v.off, from.Buffer, from.Offset, len(bytes)); err != nil {
			return false, err
		}
	}
	if !a.readOnHost(v) {
		return false, nil
	}
	return true, a.stream.Download(v.mem, from.Buffer, from.Offset)
}

// readOnHost reports whether a step on the host reads a feed.
func (a *acceleratorExecutor) readOnHost(feed *value) bool {
	if len(a.hostSteps) == 0 {
		return false
	}
	for _, s := range a.steps {
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
