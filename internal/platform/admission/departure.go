package admission

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// Departure says how a message leaves for a client. gRPC keeps a call's reply for its client as long as the connection lives: a client that
// opens no window for it, or reads nothing, could hold its memory forever.
type Departure struct {
	Within time.Duration // time for the client to receive the next 16 MiB, or the rest, of this reply or of others beside it; then its connection is closed. 0: unlimited
	Gone   func()        // called once when all was sent or dropped; may be nil
}

// WaitingReply is the memory of a reply, without its bytes, while it waits for its client: the headers of its call, of up to [MaxHeaders],
// and its stream.
const WaitingReply = waitingCost

// Send tracks a message that the call of ctx is about to send. gRPC must not compress it: it would copy the message to memory that is not
// accounted for, and not report when that was sent.
func (d Departure) Send(ctx context.Context, data mem.BufferSlice) mem.BufferSlice {
	_ = grpc.SetSendCompressor(ctx, encoding.Identity) // fails for a stream that has sent something, or outside of a gRPC call
	return d.follow(PlaceOf(ctx), data)
}

// departing is a message that is being sent.
type departing struct {
	Departure
	place *Place // nil: the connection has none
	once  sync.Once

	mu    sync.Mutex
	ended bool
	timer *time.Timer // nil: there is no limit, or it has ended
	wrote int64       // bytes written by the connection when the limit began
	again int64       // how often the limit was restarted because of other replies
	tells int64       // the first garbage collection that tells whether the message is forgotten; 0: the limit is not over
}

// tracker is referenced by the buffers of a message. The transport may forget a message, such as one whose client cancelled the call; then
// the tracker becomes garbage.
type tracker struct {
	of   *departing
	left atomic.Int64 // buffers left
}

// follow returns the data in buffers that report when they were sent.
func (d Departure) follow(place *Place, data mem.BufferSlice) (out mem.BufferSlice) {
	of := &departing{Departure: d, place: place}
	t := &tracker{of: of}
	for _, b := range data {
		out = t.add(out, b)
	}
	if len(out) == 0 {
		of.over()
		return nil
	}
	t.left.Store(int64(len(out)))
	if !place.depart(of) {
		runtime.AddCleanup(t, (*departing).over, of)
		return out
	}
	if d.Within > 0 {
		of.watch(weak.Make(t))
	}
	return out
}

// add appends a buffer in pieces. The client has to receive each in time.
func (t *tracker) add(out mem.BufferSlice, b mem.Buffer) mem.BufferSlice {
	text := b.ReadOnlyData()
	if len(text) == 0 {
		b.Free()
		return out
	}
	if mem.IsBelowBufferPoolingThreshold(cap(text)) { // gRPC does not report when such buffers are free
		s := smallBuffers.Get().(*[]byte)
		*s = append((*s)[:0], text...)
		b.Free()
		return append(out, mem.NewBuffer(s, &tracked{t, nil}))
	}
	for begin := 0; begin < len(text); begin += lastPiece {
		if begin > 0 {
			b.Ref()
		}
		piece := text[begin:min(begin+lastPiece, len(text))]
		if cap(piece) <= smallBuffer { // the rest of a large one
			piece = append(make([]byte, 0, smallBuffer), piece...)
		}
		out = append(out, mem.NewBuffer(&piece, &tracked{t, b}))
	}
	return out
}

// smallBuffer is above the size up to which gRPC forgets buffers.
const smallBuffer = 2 << 10

var smallBuffers = sync.Pool{New: func() any { b := make([]byte, 0, smallBuffer); return &b }}

// tracked is the pool to which a buffer returns when it was sent.
type tracked struct {
	t    *tracker
	from mem.Buffer // nil: the buffer comes from smallBuffers
}

var _ mem.BufferPool = (*tracked)(nil)

// Get implements mem.BufferPool; it is not called.
func (p *tracked) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put implements mem.BufferPool.
func (p *tracked) Put(b *[]byte) {
	if p.from != nil {
		p.from.Free()
	} else {
		smallBuffers.Put(b)
	}
	if p.t.left.Add(-1) == 0 {
		p.t.of.over()
	} else {
		p.t.of.more()
	}
}

// watch starts the limit, unless the connection was closed meanwhile.
func (d *departing) watch(left weak.Pointer[tracker]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		d.wrote = d.place.writes.bytes.Load()
		d.timer = time.AfterFunc(d.Within, func() { d.late(left) })
	}
}

// more restarts the limit: the client has received a piece.
func (d *departing) more() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && d.timer.Stop() {
		d.wrote, d.again, d.tells = d.place.writes.bytes.Load(), 0, 0
		d.timer.Reset(d.Within)
	}
}

// shares restarts the limit if the client has received the required amount on the connection as a whole: replies are sent in turn, so each
// may need the time of all that wait.
func (d *departing) shares() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.place.writes.bytes.Load()
	if d.ended || now-d.wrote < lastPiece || d.again >= d.place.owes.Load() {
		return false
	}
	d.wrote, d.tells = now, 0
	d.again++
	d.timer.Reset(d.Within)
	return true
}

// over ends the watch.
func (d *departing) over() {
	d.once.Do(func() {
		d.mu.Lock()
		d.ended = true
		if d.timer != nil {
			d.timer.Stop()
			d.timer = nil
		}
		d.mu.Unlock()
		d.place.departed(d)
		if d.Gone != nil {
			d.Gone()
		}
	})
}

// waits reports whether the message is still being sent.
func (d *departing) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.ended
}

// late closes the connection of a client that does not receive its message, unless the transport has forgotten the message.
func (d *departing) late(left weak.Pointer[tracker]) {
	if d.shares() {
		return
	}
	gone, wait := forgotten(left, d.telling())
	if wait > 0 {
		d.ask(wait)
		return
	}
	if !gone && d.waits() {
		d.place.cut("a connection is closed whose client does not take its reply")
	}
	d.over()
}

// telling is the first garbage collection that begins after the limit.
func (d *departing) telling() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tells == 0 {
		d.tells = collections.begun.Load() + 1
	}
	return d.tells
}

// ask schedules another call of late.
func (d *departing) ask(wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		d.timer.Reset(wait)
	}
}

// forgotten reports whether nothing refers to a tracker any more; garbage collection number tells, and each later one, shows this. If it
// has not begun and the last one was too recent, forgotten returns how long to wait before asking again.
func forgotten(t weak.Pointer[tracker], tells int64) (gone bool, wait time.Duration) {
	collections.Lock()
	defer collections.Unlock()
	if t.Value() != nil && collections.begun.Load() < tells {
		if wait = time.Until(collections.next); wait > 0 && wait <= longestPause { // a longer wait means that the clock jumped
			return false, wait
		}
		collections.begun.Add(1)
		began := time.Now()
		runtime.GC()
		ended := time.Now()
		collections.next = ended.Add(pauseAfter(ended.Sub(began)))
	}
	return t.Value() == nil, 0
}

// collections are the garbage collections that forgotten runs; all goroutines that wait for the next one share it.
var collections struct {
	sync.Mutex
	begun atomic.Int64
	next  time.Time // no other collection begins earlier
}

// The pauses between collections. Collections take a twentieth of the time; otherwise clients could keep the server collecting garbage,
// with large calls that they cancel one after the other.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 10 * time.Second
	pauseTimes    = 19 // times the duration of the collection
)

func pauseAfter(took time.Duration) time.Duration {
	return min(max(pauseTimes*took, shortestPause), longestPause)
}
