package requestlog

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// write is the writer's loop; no other goroutine touches files.
func (l *Logger) write() {
	defer close(l.done)
	fs := files{l: l, open: map[string]*file{}, retry: map[string]time.Time{}}
	tick := time.NewTicker(l.o.Flush)
	defer tick.Stop()
	for {
		flush := false
		select {
		case <-l.signal:
		case <-tick.C:
			flush = true
		}
		entries, closed := l.take()
		for _, e := range entries {
			fs.store(e)
		}
		if flush || closed {
			for prefix := range fs.open {
				fs.flush(prefix, closed)
			}
		}
		if closed {
			return
		}
	}
}

// files are the open log files, by prefix.
type files struct {
	l     *Logger
	open  map[string]*file
	retry map[string]time.Time // when to try again after a prefix failed
}

// store writes one record, to a new file if the last one is full.
func (fs *files) store(e entry) {
	f, err := fs.file(e.prefix)
	if err == nil {
		f.pending = append(f.pending, e.model)
		err = f.w.Write(e.record)
	}
	switch {
	case errors.Is(err, errWaiting):
		fs.l.drop(e.model, err)
	case f == nil:
		fs.fail(e.prefix, &file{pending: []string{e.model}}, err)
	case err != nil:
		fs.fail(e.prefix, f, err)
	default:
		if f.size += int64(len(e.record)) + 16; f.size >= fs.l.o.FileBytes {
			fs.flush(e.prefix, true)
		}
	}
}

var errWaiting = status.Error(codes.DataLoss, "request log: files could not be written a moment ago")

// file returns the file of a prefix.
func (fs *files) file(prefix string) (*file, error) {
	if f := fs.open[prefix]; f != nil {
		return f, nil
	}
	if at, failed := fs.retry[prefix]; failed {
		if fs.l.o.now().Before(at) {
			return nil, errWaiting
		}
		delete(fs.retry, prefix)
	}
	f, err := fs.l.create(prefix)
	if err == nil {
		fs.open[prefix] = f
	}
	return f, err
}

// flush writes the buffered records of a file; end also closes the file.
func (fs *files) flush(prefix string, end bool) {
	f := fs.open[prefix]
	err := f.buf.Flush()
	if end && err == nil {
		err = f.f.Sync()
	}
	if err != nil {
		fs.fail(prefix, f, err)
		return
	}
	for _, model := range f.pending {
		fs.l.o.Logged(model, nil)
	}
	f.pending = nil
	if end {
		delete(fs.open, prefix)
		if err := f.f.Close(); err != nil {
			fs.l.o.Log.Error("request log: closing a file", "file", f.path, "error", err)
		}
	}
}

// fail gives up a file, with the records that may be in its buffer. The next file is not created at once: on a full disk,
// each record would cause an empty file and a line in the log.
func (fs *files) fail(prefix string, f *file, err error) {
	delete(fs.open, prefix)
	fs.retry[prefix] = fs.l.o.now().Add(fs.l.o.Retry)
	if f.f != nil {
		_ = f.f.Close() // there already is an error to report
		fs.l.removeEmpty(f.path)
	}
	for _, model := range f.pending {
		fs.l.drop(model, status.Errorf(codes.DataLoss, "request log: %v", err))
	}
	fs.l.o.Log.Error("request log: records are lost", "prefix", prefix, "records", len(f.pending), "next_attempt_in", fs.l.o.Retry, "error", err)
}

// file is a file that is being written.
type file struct {
	path    string   // relative to Options.Dir
	f       *os.File // nil: it could not be made
	buf     *bufio.Writer
	w       *tfrecord.Writer
	size    int64
	pending []string // models of the records that may be in the buffer
}

// removeEmpty removes an empty file, if it can.
func (l *Logger) removeEmpty(path string) {
	root, err := os.OpenRoot(l.o.Dir)
	if err != nil {
		return
	}
	defer root.Close()
	if info, err := root.Lstat(path); err == nil && info.Size() == 0 {
		_ = root.Remove(path)
	}
}

// create makes a new file: <prefix>-<UTC time>-<process>-<number>.tfrecord. Links cannot lead out of the folder.
func (l *Logger) create(prefix string) (*file, error) {
	if err := os.MkdirAll(l.o.Dir, 0o750); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(l.o.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(prefix), 0o750); err != nil {
		return nil, err
	}
	base := fmt.Sprintf("%s-%s-%d", prefix, l.o.now().UTC().Format("20060102T150405"), os.Getpid())
	for n := 0; ; n++ {
		path := filepath.Clean(fmt.Sprintf("%s-%03d.tfrecord", base, n))
		f, err := l.o.open(root, path)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		buf := bufio.NewWriterSize(f, 1<<16)
		return &file{path: path, f: f, buf: buf, w: tfrecord.NewWriter(buf)}, nil
	}
}

// newFile creates a file that must not exist.
func newFile(root *os.Root, path string) (*os.File, error) {
	return root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
