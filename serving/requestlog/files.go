package requestlog

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/internal/tfrecord"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// write is the writer: it alone touches files.
func (l *Logger) write() {
	defer close(l.done)
	files := map[string]*file{}
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
			l.store(files, e)
		}
		for prefix, f := range files {
			if !flush && !closed {
				continue
			}
			if err := f.flush(closed); err != nil {
				l.lost(f, err)
				delete(files, prefix)
			}
		}
		if closed {
			return
		}
	}
}

// store writes one record, to a new file where the last one is full. After an error the next record begins another file.
func (l *Logger) store(files map[string]*file, e entry) {
	f := files[e.prefix]
	err := func() (err error) {
		if f == nil {
			if f, err = l.create(e.prefix); err != nil {
				return err
			}
			files[e.prefix] = f
		}
		return f.w.Write(e.record)
	}()
	if err != nil {
		l.o.Log.Error("request log: a record is lost", "model", e.model, "error", err)
		l.drop(e.model, status.Errorf(codes.DataLoss, "request log: %v", err))
		if f != nil {
			l.lost(f, err)
			delete(files, e.prefix)
		}
		return
	}
	l.o.Logged(e.model, nil)
	f.pending++
	if f.size += int64(len(e.record)) + 16; f.size >= l.o.FileBytes {
		if err := f.flush(true); err != nil {
			l.lost(f, err)
		}
		delete(files, e.prefix)
	}
}

// lost counts what was in the buffer of a file that failed.
func (l *Logger) lost(f *file, err error) {
	_ = f.f.Close() // it may be closed already
	l.dropped.Add(f.pending)
	l.o.Log.Error("request log: records are lost", "file", f.f.Name(), "records", f.pending, "error", err)
}

// file is one that is being written.
type file struct {
	f       *os.File
	buf     *bufio.Writer
	w       *tfrecord.Writer
	size    int64
	pending int64 // records in the buffer
}

// create makes a file that was not there: <prefix>-<UTC time>-<process>-<number>.tfrecord.
func (l *Logger) create(prefix string) (*file, error) {
	if err := os.MkdirAll(filepath.Dir(prefix), 0o750); err != nil {
		return nil, err
	}
	base := fmt.Sprintf("%s-%s-%d", prefix, l.o.now().UTC().Format("20060102T150405"), os.Getpid())
	for n := 0; ; n++ {
		f, err := os.OpenFile(filepath.Clean(fmt.Sprintf("%s-%03d.tfrecord", base, n)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		buf := bufio.NewWriterSize(f, 1<<16)
		return &file{f: f, buf: buf, w: tfrecord.NewWriter(buf)}, nil
	}
}

// flush empties the buffer; end ends the file.
func (f *file) flush(end bool) error {
	err := f.buf.Flush()
	if err == nil {
		f.pending = 0
	}
	if end {
		err = errors.Join(err, f.f.Sync(), f.f.Close())
	}
	return err
}
