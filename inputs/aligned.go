package inputs

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf8"
)

// whitespace is the delimiter of cells that any number of spaces and tabs separate.
const whitespace = "whitespace"

// cellRows reads the rows of a text file as cells; *csv.Reader implements it. Wrong rows are *csv.ParseError.
type cellRows interface {
	Read() ([]string, error)
	// FieldPos returns the line and byte, from 1, at which a cell of the last row begins.
	FieldPos(cell int) (line, column int)
}

// AlignedRows reads cells that are separated by spaces and tabs. A quoted cell may hold
// spaces and tabs, and ends on its line.
type AlignedRows struct {
	lines   *bufio.Scanner
	comment rune
	line    int
	cells   []string
	at      []int // byte of each cell, from 1
}

// NewAlignedRows returns the rows of a text without lines that begin with comment; 0: no comments.
func NewAlignedRows(in io.Reader, comment rune) *AlignedRows {
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	return &AlignedRows{lines: sc, comment: comment}
}

// Read returns the cells of the next line that has any; they are valid until the next Read.
func (r *AlignedRows) Read() ([]string, error) {
	for r.lines.Scan() {
		r.line++
		line := strings.TrimSuffix(r.lines.Text(), "\r")
		if first, _ := utf8.DecodeRuneInString(line); r.comment != 0 && first == r.comment {
			continue
		}
		if err := r.split(line); err != nil || len(r.cells) > 0 {
			return r.cells, err
		}
	}
	if err := r.lines.Err(); err != nil {
		return nil, &csv.ParseError{StartLine: r.line + 1, Line: r.line + 1, Column: 1, Err: err}
	}
	return nil, io.EOF
}

func (r *AlignedRows) split(line string) error {
	r.cells, r.at = r.cells[:0], r.at[:0]
	const blank = " \t"
	for i := 0; ; {
		i += len(line[i:]) - len(strings.TrimLeft(line[i:], blank))
		if i == len(line) {
			return nil
		}
		r.at = append(r.at, i+1)
		if line[i] != '"' {
			end := strings.IndexAny(line[i:], blank)
			if end < 0 {
				end = len(line) - i
			}
			if q := strings.IndexByte(line[i:i+end], '"'); q >= 0 {
				return r.wrong(i+q, csv.ErrBareQuote)
			}
			r.cells = append(r.cells, line[i:i+end])
			i += end
			continue
		}
		cell, n := quotedCell(line[i:])
		if n == 0 || i+n < len(line) && !strings.ContainsRune(blank, rune(line[i+n])) {
			return r.wrong(i, csv.ErrQuote)
		}
		r.cells = append(r.cells, cell)
		i += n
	}
}

func (r *AlignedRows) wrong(at int, err error) error {
	return &csv.ParseError{StartLine: r.line, Line: r.line, Column: at + 1, Err: err}
}

// quotedCell returns the quoted cell at the start of s and the number of bytes that it takes, 0 if the quote is not closed.
func quotedCell(s string) (cell string, n int) {
	var b bytes.Buffer
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
		} else if i+1 < len(s) && s[i+1] == '"' {
			b.WriteByte('"')
			i++
		} else {
			return b.String(), i + 1
		}
	}
	return "", 0
}

// FieldPos returns the line and byte, from 1, at which a cell of the last row begins.
func (r *AlignedRows) FieldPos(cell int) (line, column int) { return r.line, r.at[cell] }
