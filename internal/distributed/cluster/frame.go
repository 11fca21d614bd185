package cluster

import (
	"sort"

	"google.golang.org/grpc/mem"
)

// Frame is one message: a small header (a marshalled proto of the package that owns
// the method) and a body of raw bytes.
//
// To send a frame, set Header and Body. The chunks of Body are not changed, and may
// be reused as soon as Send or Call returns. A frame that a Handler returns is read
// after the handler has returned: its chunks must not change until Done is called.
//
// In a received frame, Body holds the chunks as they came from the wire. They are
// valid until Release; Header stays valid. Several goroutines may read a received
// frame, but not while Release runs.
type Frame struct {
	Header []byte
	Body   [][]byte

	// More says that another frame is sent on the stream at once: a small frame may
	// wait for it, to be sent with the same system call.
	More bool

	// Done, if set in a frame that a Handler returns, is called once when the
	// transport no longer reads Body, whether the frame was delivered or not.
	Done func()

	ends    []int           // ends[i] is the end of Body[i] in the body; only in received frames
	buffers mem.BufferSlice // memory of Body; only in received frames
}

// Len returns the number of bytes of the body.
func (f *Frame) Len() int {
	if len(f.ends) == len(f.Body) && len(f.ends) > 0 {
		return f.ends[len(f.ends)-1]
	}
	n := 0
	for _, b := range f.Body {
		n += len(b)
	}
	return n
}

// CopyTo copies the body's bytes [offset, offset+len(dst)) into dst and returns their
// number, which is less than len(dst) if the body ends before.
func (f *Frame) CopyTo(dst []byte, offset int) int {
	if offset < 0 {
		return 0
	}
	first, start := f.chunkAt(offset)
	n := 0
	for _, b := range f.Body[first:] {
		if n == len(dst) {
			break
		}
		if skip := offset + n - start; skip < len(b) {
			n += copy(dst[n:], b[skip:])
		}
		start += len(b)
	}
	return n
}

// chunkAt returns a chunk at or before the one with the byte at offset, and the
// chunk's start.
func (f *Frame) chunkAt(offset int) (chunk, start int) {
	if len(f.ends) != len(f.Body) {
		return 0, 0
	}
	chunk = sort.SearchInts(f.ends, offset+1)
	if chunk > 0 {
		start = f.ends[chunk-1]
	}
	return chunk, start
}

// Release returns the memory of a received frame; Body is nil afterwards. Releasing a
// frame again, a frame that was not received, or nil does nothing.
func (f *Frame) Release() {
	if f == nil || f.buffers == nil {
		return
	}
	f.buffers.Free()
	f.buffers, f.Body, f.ends = nil, nil, nil
}
