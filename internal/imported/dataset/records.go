package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Open opens a file for reading.
type Open func(path string) (atomicfile.File, error)

// Records are the records of a file, one after another.
type Records interface {
	// Next returns the next record, or io.EOF after the last one. Memory grows with the bytes that are read, up to the limit.
	Next() ([]byte, error)
	// Position returns where the last record is: its byte in a TFRecord file, its line (from 1) in a text file, or its number.
	Position() int64
	Close() error
}

// RecordFile is a file that is read as records.
type RecordFile struct {
	Path        string
	Compression string // "GZIP", "ZLIB", or "" for none
	Offset      int64  // where reading begins
	Limit       int    // the maximum bytes of a record
}

// stream is an open file, decompressed. It counts what is left of the limit.
type stream struct {
	file atomicfile.File
	*bufio.Reader
	unpack io.Closer
	limit  int64
	from   io.Reader
}

func (f RecordFile) open(open Open) (*stream, error) {
	file, err := open(f.Path)
	if err != nil {
		return nil, err
	}
	s := &stream{file: file, limit: int64(f.Limit)}
	if err := s.decompress(f); err != nil {
		_ = file.Close()
		return nil, err
	}
	s.Reader = bufio.NewReaderSize(s.from, 64<<10)
	return s, nil
}

func (s *stream) decompress(f RecordFile) error {
	size, err := s.file.Size()
	if err != nil {
		return err
	}
	if f.Offset < 0 {
		return fmt.Errorf("file %q: expected no negative offset, got %d", f.Path, f.Offset)
	}
	s.from = io.NewSectionReader(s.file, f.Offset, max(size-f.Offset, 0))
	switch f.Compression {
	case "":
	case "GZIP":
		r, err := gzip.NewReader(bufio.NewReader(s.from))
		if err != nil {
			return fmt.Errorf("file %q: %w", f.Path, err)
		}
		s.from, s.unpack = r, r
	case "ZLIB":
		r, err := zlib.NewReader(bufio.NewReader(s.from))
		if err != nil {
			return fmt.Errorf("file %q: %w", f.Path, err)
		}
		s.from, s.unpack = r, r
	default:
		return fmt.Errorf("Unsupported compression_type: %s.", f.Compression)
	}
	return nil
}

func (s *stream) Close() error {
	if s.unpack != nil {
		_ = s.unpack.Close()
	}
	return s.file.Close()
}

// tooLong is the error for a record that is longer than the limit.
func (s *stream) tooLong() error {
	return fmt.Errorf("%w: a record of more than %d bytes", ErrLimit, s.limit)
}

// TFRecords opens a file of TFRecords.
func (f RecordFile) TFRecords(open Open) (Records, error) {
	s, err := f.open(open)
	if err != nil {
		return nil, err
	}
	r := &tfrecords{stream: s, within: &io.LimitedReader{R: s.Reader}}
	r.r = tfrecord.NewReader(r.within)
	return r, nil
}

type tfrecords struct {
	*stream
	within *io.LimitedReader // bounds a record
	r      *tfrecord.Reader
	at     int64
}

func (r *tfrecords) Position() int64 { return r.at }

func (r *tfrecords) Next() ([]byte, error) {
	const framing = 16
	r.within.N, r.at = r.limit+framing, r.r.Offset()
	b, err := r.r.Next()
	if err != nil && err != io.EOF && r.within.N == 0 {
		return nil, r.tooLong()
	}
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(err, &corrupt) {
		err = fmt.Errorf("%w: %w", ErrDataLoss, err)
	}
	return bytes.Clone(b), err
}

// Returns says how carriage returns in a text file are handled.
type Returns uint8

// How "\r" is handled.
const (
	DropReturns     Returns = iota // removed everywhere
	DropLastReturns                // removed at the ends of lines
	KeepReturns
)

// Lines opens a text file. Lines end with "\n".
func (f RecordFile) Lines(open Open, r Returns) (Records, error) {
	s, err := f.open(open)
	if err != nil {
		return nil, err
	}
	return &lines{stream: s, returns: r}, nil
}

type lines struct {
	*stream
	returns Returns
	n       int64
}

func (l *lines) Position() int64 { return l.n }

func (l *lines) Next() ([]byte, error) {
	line := []byte{}
	l.n++
	for {
		part, err := l.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case int64(len(line)) > l.limit:
			return nil, l.tooLong()
		case err == nil || err == io.EOF && len(line) > 0:
			return l.trim(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// trim returns a line without its line end.
func (l *lines) trim(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	switch l.returns {
	case DropReturns:
		return bytes.ReplaceAll(line, []byte{'\r'}, nil)
	case DropLastReturns:
		return bytes.TrimSuffix(line, []byte{'\r'})
	}
	return line
}
