package dataset

import (
	"bytes"
	"fmt"
	"io"
)

// Fixed says how long the records of a file are, and what is before and after them, in bytes.
type Fixed struct {
	Header, Record, Footer int64
	Hop                    int64 // from the start of one record to the next; 0 means Record
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
	tail []byte // bytes that were read ahead: they may be the footer
	n    int64  // records so far
}

func (r *fixedRecords) Position() int64 { return r.n - 1 }

// begin checks the file's size if it is known, and skips the header.
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

// Next returns a record only once it has seen that at least the footer's length follows it.
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
	r.n++
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
