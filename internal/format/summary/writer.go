package summary

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	eventpb "github.com/wamuir/graft/tensorflow/core/util/event_go_proto"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Event is one record of an event file.
type Event = eventpb.Event

// Value is one tagged value of an event. Scalar, Histogram, Image, Text and
// Tensor return one.
type Value = summarypb.Summary_Value

// Writer receives events. FileWriter implements it; Memory is its twin for tests.
// Implementations are safe for concurrent use.
type Writer interface {
	// Scalar adds one scalar.
	Scalar(step int64, tag string, value float64) error
	// Values adds values of one step as one event.
	Values(step int64, values ...*Value) error
	// Add adds an event. It sets the wall time if that is 0.
	Add(e *Event) error
	// Flush hands everything to the operating system: a later crash of the process
	// does not lose it.
	Flush() error
	// Close flushes and closes. Adding events afterwards is an error.
	Close() error
}

// FilePrefix begins the name of every event file.
const FilePrefix = "events.out.tfevents."

const (
	fileVersion = "brain.Event:2"
	bufferSize  = 64 << 10
	// defaultFlush keeps TensorBoard up to date.
	defaultFlush = 5 * time.Second
)

// Options configure a FileWriter.
type Options struct {
	// Suffix is appended to the file's name, for example ".profile".
	Suffix string
	// FlushEvery is the time after which adding an event also flushes; 0 is 5 s.
	FlushEvery time.Duration
	// Clock gives wall times; nil is time.Now.
	Clock func() time.Time
	// FS is the file system; nil is the operating system's.
	FS atomicfile.FS
}

// ErrClosed is the error of adding to a closed Writer.
var ErrClosed = errors.New("the event writer is closed")

// FileWriter appends events to one new file of a directory.
type FileWriter struct {
	dir     string
	opts    Options
	mu      sync.Mutex
	file    atomicfile.File
	path    string
	buf     *bufio.Writer
	flushed time.Time
	closed  bool
	wall    time.Time // of the last event
	at      time.Time // when that was, by the real clock
}

var (
	_ Writer = (*FileWriter)(nil)
	_ Writer = (*Memory)(nil)

	fileSerial atomic.Int64
)

// NewFileWriter returns a writer to a directory. The directory and the file are created
// with the first event, so a writer without events leaves nothing.
func NewFileWriter(dir string, o Options) *FileWriter {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.FS == nil {
		o.FS = atomicfile.OS{}
	}
	if o.FlushEvery == 0 {
		o.FlushEvery = defaultFlush
	}
	return &FileWriter{dir: dir, opts: o}
}

// Dir returns the directory.
func (w *FileWriter) Dir() string { return w.dir }

// Path returns the file's path, "" before the first event.
func (w *FileWriter) Path() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.path
}

// open creates the file and writes its version record.
func (w *FileWriter) open(now time.Time) error {
	if err := atomicfile.MkdirAll(w.opts.FS, w.dir); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	host = strings.ReplaceAll(host, "/", "_")
	secs, err := w.laterThanAll(now.Unix())
	if err != nil {
		return err
	}
	for w.file == nil {
		name := fmt.Sprintf("%s%010d.%s.%d.%d%s", FilePrefix, secs, host, os.Getpid(), fileSerial.Add(1), w.opts.Suffix)
		path := filepath.Join(w.dir, name)
		f, err := w.opts.FS.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue // an earlier process with the same id, in a container
		}
		if err != nil {
			return err
		}
		w.file, w.path, w.buf, w.flushed = f, path, bufio.NewWriterSize(f, bufferSize), now
	}
	return w.record(&Event{WallTime: seconds(now), What: &eventpb.Event_FileVersion{FileVersion: fileVersion}})
}

// lastSeconds is the latest time that fits in a file's name.
const lastSeconds = 9_999_999_999

// laterThanAll returns secs, or a later time if necessary, so that the new file's name sorts after the others
// in the directory: readers take files in the order of their names, and the clock may have been ahead.
func (w *FileWriter) laterThanAll(secs int64) (int64, error) {
	names, err := w.opts.FS.ReadDir(w.dir)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, FilePrefix)
		if digits, _, dot := strings.Cut(rest, "."); ok && dot {
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= secs && n < lastSeconds {
				secs = n + 1
			}
		}
	}
	return secs, nil
}

// wallTime returns the wall time of an event. It continues to increase if the clock is set back, so that a file's events are in order.
func (w *FileWriter) wallTime(now time.Time) time.Time {
	wall := now.Round(0) // only the wall clock's reading
	if wall.Before(w.wall) {
		wall = w.wall.Add(max(now.Sub(w.at), 0))
	}
	w.wall, w.at = wall, now
	return wall
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func (w *FileWriter) record(e *Event) error {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
	if err != nil {
		return fmt.Errorf("event of step %d: %w", e.Step, err)
	}
	return tfrecord.NewWriter(w.buf).Write(b)
}

// Scalar implements Writer.
func (w *FileWriter) Scalar(step int64, tag string, value float64) error {
	return w.Values(step, Scalar(tag, value))
}

// Values implements Writer.
func (w *FileWriter) Values(step int64, values ...*Value) error {
	return w.Add(valuesEvent(step, values))
}

// Add implements Writer.
func (w *FileWriter) Add(e *Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("add to %s: %w", w.dir, ErrClosed)
	}
	now := w.opts.Clock()
	if w.file == nil {
		if err := w.open(now); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	if e.WallTime == 0 {
		e.WallTime = seconds(w.wallTime(now))
	}
	if err := w.record(e); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	if now.Sub(w.flushed) >= w.opts.FlushEvery {
		return w.flush()
	}
	return nil
}

// Flush implements Writer.
func (w *FileWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *FileWriter) flush() error {
	if w.file == nil {
		return nil
	}
	w.flushed = w.opts.Clock()
	if err := w.buf.Flush(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// Close implements Writer. Closing again does nothing.
func (w *FileWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.flush(), w.file.Close())
	w.file = nil
	return err
}
