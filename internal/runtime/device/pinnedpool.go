package device

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"unsafe"
)

// minPinned is the smallest request served from pinned memory: less is copied faster than it is tracked.
const minPinned = 64 << 10

// PinnedPool is a pool of page-locked ("pinned") memory, which takes longer to allocate than to fill. It implements Arrow's
// allocator interface, so that records can be made in it. Small requests, requests beyond its limit, and requests that the device
// refuses get ordinary memory. Memory is not cleared, and must be returned by Free. A PinnedPool is safe for concurrent use.
type PinnedPool struct {
	from HostAllocator

	mu         sync.Mutex
	limit      int // bytes of all blocks
	total      int
	free       map[int][]HostBuffer // by size
	inUse      map[*byte]HostBuffer // by the first byte
	closed     bool
	onReturned func(error) // after Close, when the last block was returned
	freeErr    error       // errors of blocks that the device did not free
}

// NewPinnedPool returns a pool of at most limit bytes of the device's memory.
func NewPinnedPool(from HostAllocator, limit int) *PinnedPool {
	return &PinnedPool{from: from, limit: limit, free: map[int][]HostBuffer{}, inUse: map[*byte]HostBuffer{}}
}

// Allocate returns size bytes.
func (p *PinnedPool) Allocate(size int) []byte {
	if size >= minPinned {
		if b := p.acquire(sizeOfBlock(size)); b != nil {
			return b.Bytes()[:size:size]
		}
	}
	return alignedBytes(size)
}

// acquire returns a block, nil if there is no room.
func (p *PinnedPool) acquire(size int) HostBuffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	if spare := p.free[size]; len(spare) > 0 {
		b := spare[len(spare)-1]
		spare[len(spare)-1] = nil
		p.free[size] = spare[:len(spare)-1]
		p.inUse[unsafe.SliceData(b.Bytes())] = b
		return b
	}
	if !p.evict(size) {
		return nil
	}
	b, err := p.from.AllocHost(size)
	if err != nil {
		p.limit = p.total // the device has no more
		return nil
	}
	p.total += size
	p.inUse[unsafe.SliceData(b.Bytes())] = b
	return b
}

// fits reports whether a new block fits into the limit once all free blocks are evicted. The pool is locked.
func (p *PinnedPool) fits(size int) bool {
	spare := 0
	for other, blocks := range p.free {
		spare += other * len(blocks)
	}
	return p.total-spare+size <= p.limit
}

// evict frees blocks of other sizes until a new one fits, and reports whether it can. The pool is locked.
func (p *PinnedPool) evict(size int) bool {
	if !p.fits(size) {
		return false
	}
	for other, spare := range p.free {
		for len(spare) > 0 && p.total+size > p.limit {
			p.total -= other
			p.freeErr = errors.Join(p.freeErr, spare[len(spare)-1].Free())
			spare = spare[:len(spare)-1]
		}
		p.free[other] = spare
	}
	return true
}

// sizeOfBlock is the size rounded up by at most a quarter, so that batches of nearly equal sizes share blocks.
func sizeOfBlock(size int) int {
	step := max(1<<(bits.Len(uint(size-1))-3), minPinned)
	return (size + step - 1) / step * step
}

// Reallocate returns size bytes that begin with b's contents, and frees b.
func (p *PinnedPool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	n := p.Allocate(size)
	copy(n, b)
	p.Free(b)
	return n
}

// Free returns memory to the pool; it must no longer be used. Ordinary memory is left to the garbage collector.
func (p *PinnedPool) Free(b []byte) {
	if onReturned, err := p.release(unsafe.SliceData(b)); onReturned != nil {
		onReturned(err)
	}
}

// release takes a block back. After the last one it returns Close's callback and the callback's argument.
func (p *PinnedPool) release(at *byte) (func(error), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	block := p.inUse[at]
	if block == nil {
		return nil, nil
	}
	delete(p.inUse, at)
	if size := len(block.Bytes()); !p.closed {
		p.free[size] = append(p.free[size], block)
		return nil, nil
	}
	p.freeErr = errors.Join(p.freeErr, block.Free())
	if len(p.inUse) > 0 {
		return nil, nil
	}
	onReturned, err := p.onReturned, p.freeErr
	p.onReturned, p.freeErr = nil, nil
	return onReturned, err
}

// Prefers reports whether b's bytes would be copied to the device faster from the pool's memory.
func (p *PinnedPool) Prefers(b []byte) bool {
	if len(b) < minPinned {
		return false
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, block := range p.inUse {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(block.Bytes())))
		if at >= from && at < from+uintptr(len(block.Bytes())) {
			return false
		}
	}
	return !p.closed && p.fits(sizeOfBlock(len(b)))
}

// ErrPinnedInUse means that memory of a closed pool is still in use.
var ErrPinnedInUse = errors.New("page-locked memory is still lent")

// Close frees the memory; later requests get ordinary memory. If some is still in use, the error is ErrPinnedInUse. The device must
// then stay open until all of it is returned, when Free calls onReturned with the error of freeing it.
func (p *PinnedPool) Close(onReturned func(error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	errs := []error{p.freeErr}
	for size, spare := range p.free {
		for _, b := range spare {
			errs = append(errs, b.Free())
		}
		delete(p.free, size)
	}
	p.freeErr = nil
	if n := len(p.inUse); n > 0 {
		p.onReturned = onReturned
		errs = append(errs, fmt.Errorf("%d pieces: %w", n, ErrPinnedInUse))
	}
	return errors.Join(errs...)
}
