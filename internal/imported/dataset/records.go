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
	// Next returns the next record, io.EOF after the last one. Memory grows with what is in the file, up to the limit.
	Next() ([]byte, error)
	Close() error
}

// RecordFile is a file that is read as records.
type RecordFile struct {
	Path        string
	Compression string // "GZIP", "ZLIB", or "" for none
	Offset      int64  // where reading begins
	Limit       int    // the most bytes of a record
}

// stream is a file that is open, decompressed. It counts what is left of the limit.
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

// tooLong is the error of a record that is longer than the limit.
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
	within *io.LimitedReader // what a record may take
	r      *tfrecord.Reader
}

func (r *tfrecords) Next() ([]byte, error) {
	const framing = 16
	r.within.N = r.limit + framing
	b, err := r.r.Next()
	if err != nil && err != io.EOF && r.within.N == 0 {
		return nil, r.tooLong()
	}
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(err, &corrupt) {
		err = fmt.Errorf("%w: %w", ErrDataLoss, err)
	}
	return bytes.Clone(b), err
}

// Lines opens a text file. Lines end with "\n"; "\r" is left out wherever it is.
func (f RecordFile) Lines(open Open) (Records, error) {
	s, err := f.open(open)
	if err != nil {
		return nil, err
	}
	return &lines{s}, nil
}

type lines struct{ *stream }

func (l *lines) Next() ([]byte, error) {
	line := []byte{}
	for {
		part, err := l.ReadSlice('\n')
		done := err == nil
		if done {
			part = part[:len(part)-1]
		}
		for _, c := range part {
			if c != '\r' {
				line = append(line, c)
			}
		}
		switch {
		case int64(len(line)) > l.limit:
			return nil, l.tooLong()
		case done:
			return line, nil
		case err == io.EOF && len(line) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Fixed says how long the records of a file are, and what is before and after them, in bytes.
type Fixed struct {
	Header, Record, Footer int64
	Hop                    int64 // from one record to the next, 0 for Record
}

// FixedLength opens a file of records of the same length.
func (f RecordFile) FixedLength(open Open, x Fixed) (Records, error) {
	if x.Header < 0 || x.Footer < 0 || x.Record <= 0 || x.Hop < 0 {
		return nil, fmt.Errorf("expected record_bytes above 0, and header_bytes, footer_bytes and hop_bytes not below, got %d, %d, %d and %d", x.Record, x.Header, x.Footer, x.Hop)
	}
	if x.Hop == 0 {
		x.Hop = x.Record
	}
	s, err := f.open(open)
	if err != nil {
		return nil, err
	}
	r := &fixedRecords{stream: s, f: f, x: x}
	if err := r.begin(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return r, nil
}

type fixedRecords struct {
	*stream
	f    RecordFile
	x    Fixed
	tail []byte // what was read ahead: it may be the footer
}

// begin checks the size where it is known, and skips the header.
func (r *fixedRecords) begin() error {
	if r.x.Record > r.limit || r.x.Footer > r.limit-r.x.Record || r.x.Hop > r.limit {
		return r.tooLong()
	}
	if size, err := r.file.Size(); err != nil {
		return err
	} else if body := size - r.x.Header - r.x.Footer; r.f.Compression == "" && r.x.Hop == r.x.Record && body%r.x.Record != 0 {
		return fmt.Errorf("Excluding the header (%d bytes) and footer (%d bytes), input file %q has body length %d bytes, which is not an exact multiple of the record length (%d bytes).",
			r.x.Header, r.x.Footer, r.f.Path, body, r.x.Record)
	}
	if _, err := io.CopyN(io.Discard, r.Reader, r.x.Header); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// Next returns a record once the footer's length is known to follow it.
func (r *fixedRecords) Next() ([]byte, error) {
	missing := r.x.Record + r.x.Footer - int64(len(r.tail))
	var more bytes.Buffer
	n, err := io.CopyN(&more, r.Reader, missing)
	if err != nil && err != io.EOF {
		return nil, err
	}
	r.tail = append(r.tail, more.Bytes()...)
	if n < missing {
		if r.f.Compression != "" && int64(len(r.tail)) > r.x.Footer && r.x.Hop == r.x.Record {
			r.tail = nil
			return nil, fmt.Errorf("file %q: the body is not an exact multiple of the record length (%d bytes): %w", r.f.Path, r.x.Record, io.ErrUnexpectedEOF)
		}
		return nil, io.EOF
	}
	record := bytes.Clone(r.tail[:r.x.Record])
	if hop := r.x.Hop; hop <= int64(len(r.tail)) {
		r.tail = bytes.Clone(r.tail[hop:])
	} else {
		_, err = io.CopyN(io.Discard, r.Reader, hop-int64(len(r.tail)))
		r.tail = nil
	}
	if err == io.EOF {
		err = nil
	}
	return record, err
}
