package requestlog

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Options of a Logger; zero values have defaults.
type Options struct {
	Dir        string        // the folder of all files; "": nothing is logged, and a config that asks for it is refused
	FileBytes  int64         // size at which a new file begins; default 64 MiB
	QueueBytes int           // size of the records that wait for the disk; default 64 MiB
	Flush      time.Duration // how long a record may wait in memory; default 1 s
	Retry      time.Duration // how long records are dropped after a file failed; default 30 s
	Log        *slog.Logger  // reports files that cannot be written; nil: slog.Default
	// Logged is called for each record that was written (nil) or dropped (with a gRPC status); may be nil.
	Logged func(model string, err error)

	now  func() time.Time
	open func(root *os.Root, path string) (*os.File, error)
}

// A Logger writes requests and responses to files. It is safe for concurrent use.
type Logger struct {
	o       Options
	models  atomic.Pointer[map[string]target]
	dropped atomic.Int64

	mu        sync.Mutex
	queue     []entry
	bytes     int // of records, with
	unencoded int // the bytes of records that are being made
	closed    bool

	signal chan struct{} // there is work, or the Logger is closed
	done   chan struct{} // closed when the writer ended
}

// entry is a record on its way to a file.
type entry struct {
	model, prefix string
	record        []byte
}

// New starts a Logger that logs nothing until it is configured; Close ends it.
func New(o Options) *Logger {
	if o.FileBytes <= 0 {
		o.FileBytes = 64 << 20
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = 64 << 20
	}
	if o.Flush <= 0 {
		o.Flush = time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Logged == nil {
		o.Logged = func(string, error) {}
	}
	if o.Retry <= 0 {
		o.Retry = 30 * time.Second
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.open == nil {
		o.open = newFile
	}
	l := &Logger{o: o, signal: make(chan struct{}, 1), done: make(chan struct{})}
	l.models.Store(&map[string]target{})
	go l.write()
	return l
}

// Dropped returns how many records were lost because the queue was full or the disk failed.
func (l *Logger) Dropped() int64 { return l.dropped.Load() }

// Done implements inference.Observer: it samples answered calls and queues them.
func (l *Logger) Done(c inference.Call) {
	if c.Err != nil {
		return
	}
	to, logged := (*l.models.Load())[c.Model]
	if !logged || rand.Float64() >= to.config.GetSamplingConfig().GetSamplingRate() {
		return
	}
	size := c.Size()
	if !l.reserve(size) {
		l.drop(c.Model, errFull)
		return
	}
	m := prediction(c, to.config.GetSamplingConfig())
	if m == nil {
		l.put(entry{}, size) // of a kind that has no log
		return
	}
	record, err := proto.Marshal(m)
	if err != nil {
		l.put(entry{}, size)
		l.drop(c.Model, status.Errorf(codes.Internal, "request log: %v", err))
		return
	}
	l.put(entry{c.Model, to.prefix, record}, size)
}

var errFull = status.Error(codes.ResourceExhausted, "request log: the queue is full")

// reserve reserves room in the queue for a record of about that size before it is made, so that a record without room uses no memory.
func (l *Logger) reserve(size int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes >= l.o.QueueBytes || size > l.o.QueueBytes-l.bytes {
		return false
	}
	l.bytes += size
	l.unencoded += size
	return true
}

// put replaces a reservation by the record; a record without bytes only returns the room.
func (l *Logger) put(e entry, reserved int) {
	l.mu.Lock()
	l.bytes -= reserved
	l.unencoded -= reserved
	switch {
	case len(e.record) == 0:
		l.mu.Unlock()
		return
	case l.closed || l.bytes+len(e.record) > l.o.QueueBytes:
		l.mu.Unlock()
		l.drop(e.model, errFull)
		return
	}
	l.queue = append(l.queue, e)
	l.bytes += len(e.record)
	l.mu.Unlock()
	l.wake()
}

func (l *Logger) wake() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

func (l *Logger) drop(model string, err error) {
	l.dropped.Add(1)
	l.o.Logged(model, err)
}

// take empties the queue.
func (l *Logger) take() (entries []entry, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, l.queue, l.bytes = l.queue, nil, l.unencoded
	return entries, l.closed
}

// Close writes the queued records, closes the files and ends the Logger; when ctx ends, it stops waiting.
func (l *Logger) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wake()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("request log: not everything was written"), ctx.Err())
	}
}
