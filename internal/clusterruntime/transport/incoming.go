package transport

import (
	"errors"
	"os"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"google.golang.org/grpc/mem"
)

const (
	// believed is the size up to which memory for a part is allocated with its first bytes.
	believed = 1 << 20
	// ahead limits the memory of a larger part, as a multiple of the received bytes. The announced size is not trusted further.
	ahead = 16
	// early is the size of the pieces in which a larger part is received before it has memory.
	early = 64 << 10
)

// errUnwanted reports that nobody wants the rest of a message.
var errUnwanted = errors.New("nobody wants the message")

// incoming is a message in parts that is being received. Each part gets its own memory.
type incoming struct {
	pay  func(n int) error // reserves memory that is about to be allocated; nil: memory is not counted
	give func(n int)       // releases it
	stop func(bool)        // ends a read of the connection, or allows reading again; nil: memory is not counted, and a read may end late

	mu    sync.Mutex
	sizes []int // of the incomplete parts
	whole mem.BufferSlice
	part  []byte
	got   int      // bytes of part, or of the part without memory
	early [][]byte // received data of a part without memory: all but the last buffer are full
	fills bool     // the reader has memory from room
	ended bool     // nobody wants it any more
}

// room returns memory for the next bytes, at least for one. The frame has announced n.
func (in *incoming) room(n int) ([]byte, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended || len(in.sizes) == 0 {
		return nil, errUnwanted
	}
	size := in.sizes[0]
	n = min(n, size-in.got)
	if in.part == nil && size > believed && in.got < size/ahead {
		at := in.got % early
		if at == 0 {
			if err := in.take(early); err != nil {
				return nil, err
			}
			in.early = append(in.early, make([]byte, early))
		}
		in.fills = true
		return in.early[len(in.early)-1][at:min(at+n, early)], nil
	}
	if in.part == nil {
		if err := in.begin(size); err != nil {
			return nil, err
		}
	}
	in.fills = true
	return in.part[in.got : in.got+n], nil
}

// begin allocates the memory of a part. The mutex is held.
func (in *incoming) begin(size int) error {
	if err := in.take(size); err != nil {
		return err
	}
	in.part = codec.Memory(size)
	at := 0
	for _, b := range in.early {
		at += copy(in.part[at:in.got], b)
	}
	if in.give != nil && len(in.early) > 0 {
		in.give(len(in.early) * early)
	}
	in.early = nil
	return nil
}

func (in *incoming) take(n int) error {
	if in.pay == nil {
		return nil
	}
	return in.pay(n)
}

// came records that the memory from room is filled, and reports whether the message is complete.
func (in *incoming) came(n int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.fills = false
	if in.ended {
		in.allow()
		return false
	}
	if in.got += n; in.got == in.sizes[0] {
		in.whole = append(in.whole, codec.Owned{SliceBuffer: in.part})
		in.sizes, in.part, in.got = in.sizes[1:], nil, 0
	}
	return len(in.sizes) == 0
}

// allow lets the connection be read again after end stopped that. The mutex is held.
func (in *incoming) allow() {
	if in.stop != nil {
		in.stop(false)
	}
}

// end gives up the message. A reader that waits for more of it must release its memory, which is paid for only until now.
func (in *incoming) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return
	}
	in.ended, in.whole, in.part, in.early = true, nil, nil, nil
	if in.fills && in.stop != nil {
		in.stop(true)
	}
}

// stopped reports whether a read failed because the message was given up, and lets the connection be read again.
func (in *incoming) stopped(err error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.fills = false
	if !in.ended || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	in.allow()
	return true
}

// receive reads the content of a data frame. It reports whether the message is complete. fault is an error of the message, not
// of the connection: the frame was read nevertheless.
func (in *incoming) receive(r *reader, n int) (whole bool, fault, err error) {
	for n > 0 {
		b, fault := in.room(n)
		if fault != nil {
			return false, fault, r.discard(n)
		}
		k, err := r.full(b)
		if n -= k; err != nil && in.stopped(err) {
			return false, errUnwanted, r.discard(n)
		}
		if err != nil {
			return false, nil, err
		}
		whole = in.came(len(b))
	}
	return whole, nil, nil
}
