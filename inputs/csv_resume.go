package inputs

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"unicode/utf8"
)

// rereader keeps the text read since the last row, so that reading can resume within it.
type rereader struct {
	in   io.Reader
	kept []byte
	from int64 // byte of the text at which kept begins
	line int   // lines before kept
	next int   // position in kept
}

// Read implements io.Reader.
func (r *rereader) Read(p []byte) (int, error) {
	if r.next < len(r.kept) {
		n := copy(p, r.kept[r.next:])
		r.next += n
		return n, nil
	}
	n, err := r.in.Read(p)
	r.kept = append(r.kept, p[:n]...)
	r.next += n
	return n, err
}

// forget drops the kept text before byte at, if it is long.
func (r *rereader) forget(at int64) {
	n := int(at - r.from)
	if n < 64<<10 {
		return
	}
	r.line += bytes.Count(r.kept[:n], []byte{'\n'})
	r.kept = append(r.kept[:0], r.kept[n:]...)
	r.from, r.next = at, r.next-n
}

// laterRows are the rows of a text after its first lines.
type laterRows struct {
	*csv.Reader
	from   int64 // byte at which they begin
	before int   // lines before it
}

// Read implements cellRows.
func (r *laterRows) Read() ([]string, error) {
	cells, err := r.Reader.Read()
	if pe := new(csv.ParseError); errors.As(err, &pe) {
		later := *pe
		later.StartLine, later.Line = pe.StartLine+r.before, pe.Line+r.before
		err = &later
	}
	return cells, err
}

// FieldPos implements cellRows.
func (r *laterRows) FieldPos(cell int) (line, column int) {
	line, column = r.Reader.FieldPos(cell)
	return line + r.before, column
}

// offset returns the byte of the text after the last row read, 0 for aligned columns.
func (r *csvReader) offset() int64 {
	switch in := r.csv.(type) {
	case *csv.Reader:
		return in.InputOffset()
	case *laterRows:
		return in.from + in.InputOffset()
	}
	return 0
}

// unreadable returns the error of a row that is not CSV. If such rows are left out, reading continues with the line after the one in which
// the row begins, since a quote that is not closed joins many rows.
func (r *csvReader) unreadable(start int64, err error) error {
	var pe *csv.ParseError
	quotes := errors.As(err, &pe) && (errors.Is(pe.Err, csv.ErrQuote) || errors.Is(pe.Err, csv.ErrBareQuote))
	long := errors.Is(err, errLongRow)
	if r.format.opts.Damaged == nil || !quotes && !long {
		return r.broken(err)
	}
	if long {
		pe = &csv.ParseError{Err: err}
	}
	explained := error(&DataError{File: r.name, Line: pe.StartLine, Err: pe.Err})
	if !r.format.opts.Damaged.brief() {
		explained = r.broken(err)
	}
	if r.again != nil && (long || pe.Line > pe.StartLine) {
		var ok bool
		if pe.StartLine, ok = r.resume(start); !ok {
			return explained
		}
	}
	r.last = pe.StartLine
	r.rows++
	return &damagedRow{r.name, int64(pe.StartLine), explained}
}

// resume continues after the first line of the row that begins at byte start of the text. It returns the number of that line; ok is false
// if the end of the line was not read.
func (r *csvReader) resume(start int64) (line int, ok bool) {
	at := int(start - r.again.from)
	for {
		n := bytes.IndexByte(r.again.kept[at:], '\n') + 1
		if n == 0 {
			return 0, false
		}
		text := r.again.kept[at : at+n]
		at += n
		first, _ := utf8.DecodeRune(text)
		comment := r.format.comment != 0 && first == r.format.comment
		if !comment && string(text) != "\n" && string(text) != "\r\n" {
			break
		}
	}
	line = r.again.line + bytes.Count(r.again.kept[:at], []byte{'\n'})
	r.again.next = at
	in := r.format.rowsOf(&r.limit).(*csv.Reader)
	r.csv = &laterRows{Reader: in, from: r.again.from + int64(at), before: line}
	return line, true
}
