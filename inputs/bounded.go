package inputs

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/internal/platform/hostmemory"
)

// bounded allocates for the Arrow library while it reads bytes that may be damaged.
// A size larger than the bytes can hold panics, which recoverArrow turns
// into an error, instead of requesting all memory. Allocations are garbage
// collected, so nothing leaks if the library stops half-way.
type bounded struct {
	memory.Allocator
	size  int64 // bytes of the content
	limit int   // bytes of one buffer
	held  *held // bytes of all buffers
}

// held counts the bytes of all buffers of a row group or record: each of many columns may be within its limit.
type held struct {
	bytes atomic.Int64
	most  int64
}

// begin resets the count. Buffers of the previous row group that are freed later leave the next one as much more room.
func (h *held) begin() { h.bytes.Store(0) }

// tooMuch is the value that held panics with: the content takes too much memory, though it need not be damaged.
type tooMuch string

func (h *held) add(n int) {
	if all := h.bytes.Add(int64(n)); n > 0 && all > h.most {
		panic(tooMuch(fmt.Sprintf("its columns take more than %d bytes together, which is all that is read at once: write smaller row groups, or read fewer columns", h.most)))
	}
}

// memoryTotal is replaced by tests.
var memoryTotal = hostmemory.Total

// mostHeld is how much memory content of the given size may take at once: a quarter of the machine's, or the limit of one buffer if that is more.
func mostHeld(size int64) int64 {
	total, ok := memoryTotal()
	if !ok {
		total = 8 << 30
	}
	return max(maxUnpacked(size), total/4)
}

// boundedFor returns an allocator for content of the given size, which may be compressed.
func boundedFor(size int64) bounded {
	return bounded{memory.NewGoAllocator(), size, int(maxUnpacked(size)), &held{most: mostHeld(size)}}
}

// maxUnpacked is the number of bytes that content of the given size may unpack to; more is refused as an
// attack.
func maxUnpacked(size int64) int64 { return 64<<20 + 100*size }

// boundedForFile returns the allocator for reading f.
func boundedForFile(f seekable) (bounded, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return bounded{}, fmt.Errorf("file cannot be read: %w", err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return boundedFor(size), err
}

// Allocate returns size bytes.
func (b bounded) Allocate(size int) []byte {
	b.check(size)
	b.held.add(size)
	return b.Allocator.Allocate(size)
}

// Reallocate resizes a buffer.
func (b bounded) Reallocate(size int, buf []byte) []byte {
	b.check(size)
	b.held.add(size - len(buf))
	return b.Allocator.Reallocate(size, buf)
}

// Free gives back a buffer.
func (b bounded) Free(buf []byte) {
	b.held.add(-len(buf))
	b.Allocator.Free(buf)
}

// dictionaryRoom bounds the bytes of all dictionaries of a file. The library reads all of them when it opens the file, and a damaged
// footer may list any number of them, or the same one many times.
type dictionaryRoom struct {
	bounded
	left int
	open bool // the dictionaries were all read
}

// Allocate returns size bytes.
func (r *dictionaryRoom) Allocate(size int) []byte {
	r.take(size)
	return r.bounded.Allocate(size)
}

// Reallocate resizes a buffer.
func (r *dictionaryRoom) Reallocate(size int, buf []byte) []byte {
	r.take(size - len(buf))
	return r.bounded.Reallocate(size, buf)
}

func (r *dictionaryRoom) take(size int) {
	if r.open || size <= 0 {
		return
	}
	if size > r.left {
		panic(fmt.Sprintf("its dictionaries claim more than the %d bytes that they may unpack to together", r.limit))
	}
	r.left -= size
}

func (b bounded) check(size int) {
	if size < 0 || size > b.limit {
		panic(fmt.Sprintf("it claims a buffer of %d bytes", size))
	}
}
