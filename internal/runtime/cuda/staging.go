package cuda

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

const (
	stagingBytes  = 4 << 20 // of a block
	stagingBlocks = 8       // of a stream at most
	stagingAlign  = 64
)

// ring is a stream's page-locked memory, through which copies from and to other memory go. Its blocks are filled one after
// the other, and reused when the stream is done with them.
type ring struct {
	d      *Device
	blocks []*stage
	at     int // the block that is being filled
	issued int // copies
}

// stage is a block of a ring.
type stage struct {
	mem  driver.Pinned
	used int
	done driver.Event // after the block's last copy, once the next block is filled
	out  []arrival
}

// arrival is a download that waits in a stage to be copied to its destination.
type arrival struct {
	dst, src []byte
	number   int // number of the copy
}

// acquire returns up to n bytes of a block, and the block. If all blocks are in use, it waits for the stream.
func (r *ring) acquire(s driver.Stream, n int) ([]byte, *stage, error) {
	if len(r.blocks) == 0 {
		if err := r.grow(); err != nil {
			return nil, nil, err
		}
	}
	b := r.blocks[r.at]
	if b.used >= stagingBytes {
		var err error
		if b, err = r.advance(s); err != nil {
			return nil, nil, err
		}
	}
	n = min(n, stagingBytes-b.used)
	mem := b.mem.Bytes()[b.used : b.used+n : b.used+n]
	b.used += (n + stagingAlign - 1) / stagingAlign * stagingAlign
	r.issued++
	return mem, b, nil
}

// advance moves to the next block: a new one, or the oldest once the stream is done with it.
func (r *ring) advance(s driver.Stream) (*stage, error) {
	if err := s.Record(r.blocks[r.at].done); err != nil {
		return nil, err
	}
	if next := (r.at + 1) % len(r.blocks); r.blocks[next].used == 0 {
		r.at = next
		return r.blocks[next], nil
	}
	if len(r.blocks) < stagingBlocks {
		err := r.grow()
		return r.blocks[r.at], err
	}
	r.at = (r.at + 1) % len(r.blocks)
	b := r.blocks[r.at]
	if err := b.done.Synchronize(); err != nil {
		return nil, err
	}
	b.arrive(r.issued)
	b.used = 0
	return b, nil
}

// grow adds a block after the current one, and moves to it.
func (r *ring) grow() error {
	mem, err := r.d.context.AllocHost(stagingBytes)
	if err != nil {
		return fmt.Errorf("page-locked memory for copies: %w", err)
	}
	e, err := r.d.context.NewEvent(false)
	if err != nil {
		return errors.Join(err, mem.Free())
	}
	if len(r.blocks) > 0 {
		r.at++
	}
	r.blocks = append(r.blocks, nil)
	copy(r.blocks[r.at+1:], r.blocks[r.at:])
	r.blocks[r.at] = &stage{mem: mem, done: e}
	return nil
}

// arrive hands over the downloads up to a copy.
func (b *stage) arrive(until int) {
	rest := b.out[:0]
	for _, a := range b.out {
		if a.number > until {
			rest = append(rest, a)
			continue
		}
		copy(a.dst, a.src)
	}
	clear(b.out[len(rest):])
	b.out = rest
}

// arrive hands over the downloads up to a copy.
func (r *ring) arrive(until int) {
	for _, b := range r.blocks {
		b.arrive(until)
	}
}

// reset makes all blocks free, since the stream has done all copies. Downloads that have not arrived are dropped.
func (r *ring) reset() {
	for _, b := range r.blocks {
		clear(b.out)
		b.used, b.out = 0, b.out[:0]
	}
	r.at = 0
}

// close frees the memory.
func (r *ring) close() error {
	var errs []error
	for _, b := range r.blocks {
		errs = append(errs, b.done.Close(), b.mem.Free())
	}
	r.blocks = nil
	return errors.Join(errs...)
}
