package inputs

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// rowLimit ends the reading of a row that has no end, as after a quote that is not
// closed.
type rowLimit struct {
	in   io.Reader
	left int // bytes that the current row may still take
}

var errLongRow = errors.New("a row is too long")

// Read implements io.Reader.
func (l *rowLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLongRow
	}
	n, err := l.in.Read(p)
	l.left -= n
	return n, err
}

// place is the position of a byte in a text.
type place struct{ line, column int } // from 1

// badQuote returns the error of a row whose quotes are wrong.
func (r *csvReader) badQuote(pe *csv.ParseError) error {
	if r.rows == 0 {
		if other := r.otherwise(pe.StartLine, 1); other != nil {
			return other
		}
	}
	if errors.Is(pe.Err, csv.ErrBareQuote) {
		return &DataError{File: r.name, Line: pe.Line, Column: pe.Column, Err: &explained{pe.Err,
			`a quote within a cell that does not begin with one: put the whole cell in quotes and write "" for the quote`}}
	}
	at := place{pe.Line, pe.Column}
	open, ended := at, false
	if r.format.comma != 0 {
		open, ended = r.openingQuote(pe.StartLine, &at)
	}
	what := "this quote is not closed"
	switch {
	case r.format.comma == 0:
		what += " where its cell ends, or before the line does"
	case r.first != nil:
		what = "a quote is not closed before here, or text follows the closing one"
	case ended:
	case open.line != at.line:
		what += fmt.Sprintf(" where its cell ends: the next quote is in line %d", at.line)
	default:
		what = fmt.Sprintf("text follows the closing quote of this cell, at %d:%d", at.line, at.column)
	}
	return &DataError{File: r.name, Line: open.line, Column: open.column, Err: &explained{pe.Err,
		what + `: close it, or write "" for a quote that belongs to the text`}}
}

// openingQuote returns the quote that opens the wrong cell of a row. The row begins at line and
// is wrong at place at, or never ends if at is nil. ended says that the text ends within that cell.
func (r *csvReader) openingQuote(line int, at *place) (open place, ended bool) {
	if at != nil {
		open = *at
	}
	if r.first != nil {
		if at == nil {
			open.line = line + 1
		}
		return open, false
	}
	f, err := openFile(r.ctx, r.name)
	if err != nil {
		return open, false
	}
	defer f.Close()
	s := quoteScan{in: unmarked(f), comma: r.format.comma, comment: r.format.comment, at: place{1, 1}, fresh: true}
	for s.at.line < line && s.skipLine() {
	}
	for n := 0; n < 2*r.format.longest; n++ { // bytes buffered before are not counted
		switch c, err := s.next(); {
		case err != nil:
			return s.opened(open), s.quoted
		case at != nil && s.quoted && c == '"' && s.at == *at:
			return s.opened(open), false
		default:
			s.take(c)
		}
	}
	return s.opened(open), false
}

// quoteScan follows the quotes of a CSV text.
type quoteScan struct {
	in             *bufio.Reader
	comma, comment rune
	at             place // of the next character
	fresh          bool  // a cell may begin here
	quoted         bool  // within a quoted cell
	open           place // the last quote that opened a cell
}

func (s *quoteScan) next() (rune, error) {
	c, _, err := s.in.ReadRune()
	if err == nil {
		err = s.in.UnreadRune()
	}
	return c, err
}

// skipLine skips the rest of a line, and reports whether it has an end.
func (s *quoteScan) skipLine() bool {
	for {
		_, err := s.in.ReadSlice('\n')
		if err == nil {
			s.at = place{s.at.line + 1, 1}
			return true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return false
		}
	}
}

// take advances past c, the next character.
func (s *quoteScan) take(c rune) {
	_, size, _ := s.in.ReadRune()
	here := s.at
	if s.at.column += size; c == '\n' {
		s.at = place{s.at.line + 1, 1}
	}
	switch {
	case s.quoted && c == '"':
		if after, err := s.next(); err == nil && after == '"' {
			_, _, _ = s.in.ReadRune() // the second quote
			s.at.column++
			return
		}
		s.quoted = false
	case s.quoted:
	case s.fresh && c == '"':
		s.quoted, s.fresh, s.open = true, false, here
	case c == '\n':
		s.fresh = true
		for after, err := s.next(); err == nil && s.comment != 0 && after == s.comment && s.skipLine(); after, err = s.next() {
		}
	case c == s.comma:
		s.fresh = true
	default:
		s.fresh = s.fresh && (c == ' ' || c == '\t')
	}
}

// opened returns the last quote that opened a cell, or otherwise if there was none.
func (s *quoteScan) opened(otherwise place) place {
	if s.open == (place{}) {
		return otherwise
	}
	return s.open
}

// longCell finds a cell that extends over several lines, as after a quote that is not closed.
func longCell(cells []string) (cell int, lines int) {
	for i, c := range cells {
		if n := strings.Count(c, "\n"); n > 0 {
			return i, n + 1
		}
	}
	return -1, 0
}
