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

// Departure is how a message leaves for a client. gRPC has a call's reply wait for its client as long as the connection lives: a client
// that opens no window for it, or reads nothing, would hold its memory for good.
type Departure struct {
	Within time.Duration // for the client to take the next 16 MiB, or what is left, of this reply or of others beside it; else its connection is closed. 0: any time
	Gone   func()        // is called once when all was sent, or dropped; it may be nil
}

// WaitingReply is what a reply takes besides its bytes as long as it waits for its client: the headers of its call, of up to [MaxHeaders],
// and its stream.
const WaitingReply = waitingCost

// Send follows a message that the call of ctx is about to send. It is not compressed on its way: gRPC would copy it to memory
// that nobody counts, and say no more when that was sent.
func (d Departure) Send(ctx context.Context, data mem.BufferSlice) mem.BufferSlice {
	_ = grpc.SetSendCompressor(ctx, encoding.Identity) // an error: a stream that has sent something, or no call of gRPC
	return d.follow(PlaceOf(ctx), data)
}

// departing is a message on its way.
type departing struct {
	Departure
	place *Place // nil: of a connection without one
	once  sync.Once

	mu    sync.Mutex
	ended bool
	timer *time.Timer // nil: there is no limit, or it is over
	wrote int64       // by the connection when the limit began
	again int64       // how often it was given anew for what others took
	tells int64       // the first collection of garbage that tells whether the message is forgotten; 0: the limit is not over
}

// tracker is what the buffers of a message refer to. The transport may forget one, as that of a call which its client gave up: the tracker
// is garbage then.
type tracker struct {
	of   *departing
	left atomic.Int64 // buffers
}

// follow returns the data in buffers that tell when they were sent.
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

// add appends a buffer in pieces. The client has to take each in time.
func (t *tracker) add(out mem.BufferSlice, b mem.Buffer) mem.BufferSlice {
	text := b.ReadOnlyData()
	if len(text) == 0 {
		b.Free()
		return out
	}
	if mem.IsBelowBufferPoolingThreshold(cap(text)) { // gRPC does not say when such are free
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

// smallBuffer is more than the size up to which gRPC forgets buffers.
const smallBuffer = 2 << 10

var smallBuffers = sync.Pool{New: func() any { b := make([]byte, 0, smallBuffer); return &b }}

// tracked is the pool that a buffer goes back to when it was sent.
type tracked struct {
	t    *tracker
	from mem.Buffer // nil: the buffer is of smallBuffers
}

var _ mem.BufferPool = (*tracked)(nil)

// Get implements mem.BufferPool; nobody asks.
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

// watch begins the limit, unless the connection was closed meanwhile.
func (d *departing) watch(left weak.Pointer[tracker]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		d.wrote = d.place.writes.bytes.Load()
		d.timer = time.AfterFunc(d.Within, func() { d.late(left) })
	}
}

// more gives the limit anew: the client has taken a piece.
func (d *departing) more() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && d.timer.Stop() {
		d.wrote, d.again, d.tells = d.place.writes.bytes.Load(), 0, 0
		d.timer.Reset(d.Within)
	}
}

// shares gives the limit anew where the client has taken as much of the connection as it has to: replies leave in turn, so each may need
// the time of all that wait.
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

// waits reports whether the message is still on its way.
func (d *departing) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.ended
}

// late closes the connection of a client that does not take its message, unless the transport has forgotten the message.
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

// telling is the first collection of garbage that begins after the limit was over.
func (d *departing) telling() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tells == 0 {
		d.tells = collections.begun.Load() + 1
	}
	return d.tells
}

// ask has late called again after some time.
func (d *departing) ask(wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		d.timer.Reset(wait)
	}
}

// forgotten reports whether nothing refers to a tracker any more, which the collection of garbage with this number tells, and each later one.
// If it has not begun and the last one was too short ago, forgotten returns when to ask again.
func forgotten(t weak.Pointer[tracker], tells int64) (gone bool, wait time.Duration) {
	collections.Lock()
	defer collections.Unlock()
	if t.Value() != nil && collections.begun.Load() < tells {
		if wait = time.Until(collections.next); wait > 0 && wait <= longestPause { // a longer one is of a clock that jumped
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

// collections are those that forgotten asks for: all that wait for the next one share it.
var collections struct {
	sync.Mutex
	begun atomic.Int64
	next  time.Time // there is no other before
}

// The pauses between collections. They take a twentieth of the time, or clients could have the server collect garbage all the time, by large
// calls that they give up one after the other.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 10 * time.Second
	pauseTimes    = 19 // as long as the collection took
)

func pauseAfter(took time.Duration) time.Duration {
	return min(max(pauseTimes*took, shortestPause), longestPause)
}
