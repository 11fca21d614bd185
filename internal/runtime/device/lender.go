package device

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"unsafe"
)

// leastLent is the size from which memory is worth lending: less is copied faster than it is looked after.
const leastLent = 64 << 10

// Lender lends page-locked memory again and again: to make such memory takes longer than to fill it. It allocates as Arrow's
// libraries expect, so that records can be made there. Little pieces, and what goes beyond its limit or is refused by the device,
// are ordinary memory. What is lent comes as it was left, and must be given back by Free. It is safe for concurrent use.
type Lender struct {
	from HostAllocator

	mu     sync.Mutex
	limit  int // bytes of all blocks
	total  int
	free   map[int][]HostBuffer // by size
	lent   map[*byte]HostBuffer // by the first byte
	closed bool
	then   func(error) // after Close, when the last piece came back
	failed error       // what giving memory back to the device came to
}

// NewLender returns a lender of at most limit bytes of the device's memory.
func NewLender(from HostAllocator, limit int) *Lender {
	return &Lender{from: from, limit: limit, free: map[int][]HostBuffer{}, lent: map[*byte]HostBuffer{}}
}

// Allocate returns size bytes.
func (l *Lender) Allocate(size int) []byte {
	if size >= leastLent {
		if b := l.block(sizeOfBlock(size)); b != nil {
			return b.Bytes()[:size:size]
		}
	}
	return alignedBytes(size)
}

// block lends a block, nil where there is no room.
func (l *Lender) block(size int) HostBuffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	if spare := l.free[size]; len(spare) > 0 {
		b := spare[len(spare)-1]
		spare[len(spare)-1] = nil
		l.free[size] = spare[:len(spare)-1]
		l.lent[unsafe.SliceData(b.Bytes())] = b
		return b
	}
	if !l.room(size) {
		return nil
	}
	b, err := l.from.AllocHost(size)
	if err != nil {
		l.limit = l.total // so much is what there is
		return nil
	}
	l.total += size
	l.lent[unsafe.SliceData(b.Bytes())] = b
	return b
}

// fits reports whether a new block can be had, if need be at the cost of free ones. The lender is locked.
func (l *Lender) fits(size int) bool {
	spare := 0
	for other, blocks := range l.free {
		spare += other * len(blocks)
	}
	return l.total-spare+size <= l.limit
}

// room makes room for a new block, at the cost of free ones of other sizes. The lender is locked.
func (l *Lender) room(size int) bool {
	if !l.fits(size) {
		return false
	}
	for other, spare := range l.free {
		for len(spare) > 0 && l.total+size > l.limit {
			l.total -= other
			l.failed = errors.Join(l.failed, spare[len(spare)-1].Free())
			spare = spare[:len(spare)-1]
		}
		l.free[other] = spare
	}
	return true
}

// sizeOfBlock is the size rounded up by at most a quarter, so that batches of nearly equal sizes share blocks.
func sizeOfBlock(size int) int {
	step := max(1<<(bits.Len(uint(size-1))-3), leastLent)
	return (size + step - 1) / step * step
}

// Reallocate returns size bytes that begin as b does, which is given back.
func (l *Lender) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	n := l.Allocate(size)
	copy(n, b)
	l.Free(b)
	return n
}

// Free takes memory back, which must no longer be used. Ordinary memory is left to the garbage collector.
func (l *Lender) Free(b []byte) {
	if then, err := l.takeBack(unsafe.SliceData(b)); then != nil {
		then(err)
	}
}

// takeBack returns what is to be done after the last piece, and what is to be told then.
func (l *Lender) takeBack(at *byte) (func(error), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	block := l.lent[at]
	if block == nil {
		return nil, nil
	}
	delete(l.lent, at)
	if size := len(block.Bytes()); !l.closed {
		l.free[size] = append(l.free[size], block)
		return nil, nil
	}
	l.failed = errors.Join(l.failed, block.Free())
	if len(l.lent) > 0 {
		return nil, nil
	}
	then, err := l.then, l.failed
	l.then, l.failed = nil, nil
	return then, err
}

// Gains reports whether b would be brought to the device faster from memory that is lent.
func (l *Lender) Gains(b []byte) bool {
	if len(b) < leastLent {
		return false
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, block := range l.lent {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(block.Bytes())))
		if at >= from && at < from+uintptr(len(block.Bytes())) {
			return false
		}
	}
	return !l.closed && l.fits(sizeOfBlock(len(b)))
}

// ErrLent tells that memory of a lender that was closed is still in use.
var ErrLent = errors.New("page-locked memory is still lent")

// Close gives the memory back to the device and lends nothing any more. Where some is lent still, the error is ErrLent: the device
// must then stay open until it came back, when then is called with what giving that back came to.
func (l *Lender) Close(then func(error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	errs := []error{l.failed}
	for size, spare := range l.free {
		for _, b := range spare {
			errs = append(errs, b.Free())
		}
		delete(l.free, size)
	}
	l.failed = nil
	if n := len(l.lent); n > 0 {
		l.then = then
		errs = append(errs, fmt.Errorf("%d pieces: %w", n, ErrLent))
	}
	return errors.Join(errs...)
}
