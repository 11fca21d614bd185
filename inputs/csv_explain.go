package inputs

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// The first wrong cell rarely shows what is wrong with a CSV file. The functions here read the
// file again to find the cause.

// explained is an error with a better message.
type explained struct {
	err  error
	text string
}

// Error returns the message.
func (e *explained) Error() string { return e.text }

// Unwrap returns the original error.
func (e *explained) Unwrap() error { return e.err }

// broken returns the error of a row that is not CSV, or of a file that cannot be read.
func (r *csvReader) broken(err error) error {
	var pe *csv.ParseError
	switch {
	case errors.As(err, &pe) && (errors.Is(err, csv.ErrQuote) || errors.Is(err, csv.ErrBareQuote)):
		return r.badQuote(pe)
	case errors.As(err, &pe):
		return &DataError{File: r.name, Line: pe.Line, Err: fmt.Errorf("line cannot be read: %w", pe.Err)}
	case errors.Is(err, errLongRow):
		open, _ := r.openingQuote(r.last, nil)
		return &DataError{File: r.name, Line: open.line, Column: open.column, Err: fmt.Errorf("%w, over %d MiB: is this quote never closed?", err, r.format.longest>>20)}
	}
	return fileError(r.name, "file cannot be read to its end, it may be cut short: %w", err)
}

// wrongCount returns the error of a row with too few or too many cells.
func (r *csvReader) wrongCount(cells []string) error {
	line, _ := r.csv.FieldPos(0)
	e := &DataError{File: r.name, Line: line}
	if r.rows == 0 {
		if other := r.otherwise(line, len(cells)); other != nil {
			return other
		}
	}
	e.Err = fmt.Errorf("row has %d cells, expected %d: check the delimiter %s, the quotes and the list of columns", len(cells), r.cells, r.format.delimiter())
	if r.rows > 0 {
		e.Err = fmt.Errorf("row has %d cells, expected %d as the rows before: one that holds %s needs quotes", len(cells), r.cells, r.format.delimiter())
		if len(cells) < r.cells {
			e.Err = fmt.Errorf("row has %d cells, expected %d as the rows before: a missing value needs %s", len(cells), r.cells, r.format.emptyCell())
		}
	}
	if at, lines := longCell(cells); at >= 0 {
		e.Line, e.Column = r.csv.FieldPos(at)
		e.Err = fmt.Errorf("row has %d cells, expected %d: the cell that begins with this quote goes over %d lines: is the quote to be closed before?", len(cells), r.cells, lines)
	}
	return e
}

// delimiter names the delimiter in messages.
func (f *csvFormat) delimiter() string { return delimiterName(f.comma) }

// emptyCell names the cell of a missing value in messages.
func (f *csvFormat) emptyCell() string {
	if f.comma == 0 {
		return `"" in its place, or one of missing_values`
	}
	return "its empty cell"
}

func delimiterName(c rune) string {
	switch c {
	case 0:
		return "white space"
	case '\t':
		return "a tab"
	}
	return strconv.QuoteRune(c)
}

// setting returns the value of the delimiter in the config.
func setting(c rune) string {
	switch c {
	case 0:
		return whitespace
	case '\t':
		return "tab"
	}
	return strconv.Quote(string(c))
}

// explainCell returns the error of a cell that cannot be read.
func (r *csvReader) explainCell(cells []string, cell int, f textField, err error) error {
	line, column := r.csv.FieldPos(cell)
	if wrong := new(wrongCell); errors.As(err, &wrong) {
		wrong.marked = true
	}
	e := &DataError{File: r.name, Line: line, Column: column, Name: f.spec.Name, Err: err}
	if r.rows == 0 {
		if other := r.otherwise(line, len(cells)); other != nil {
			return other
		}
		if !r.format.opts.Header && r.isHeader(cells) {
			return &DataError{File: r.name, Line: line, Err: fmt.Errorf("the first row holds names (%s): set header: true", firstOf(cells))}
		}
		if !r.format.opts.Header && !isNumber(cells[cell]) && f.numeric() && !r.absent(strings.TrimSpace(cells[cell])) {
			e.Err = fmt.Errorf("%w (if the first row holds names, set header: true)", err)
		}
	}
	switch {
	case strings.Contains(cells[cell], "\n"):
		e.Err = fmt.Errorf("%w (the cell goes over several lines: is its quote to be closed before?)", err)
	case f.numeric() && strings.Contains(cells[cell], ",") && isNumber(strings.Replace(cells[cell], ",", ".", 1)):
		e.Err = fmt.Errorf("%w (numbers have a decimal point, no comma; where all have a comma, set decimal: \",\")", err)
	default:
		if other := otherText(cells[cell]); other != "" {
			e.Err = fmt.Errorf("%w%s", err, other)
		}
	}
	return e
}

// numeric reports whether the column reads numbers without a vocabulary.
func (f textField) numeric() bool {
	return len(f.spec.Vocabulary) == 0 && f.spec.DType != tensor.String.String() && f.spec.DType != tensor.Bool.String()
}

func isNumber(cell string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
	return err == nil
}

// isHeader reports whether the first row has names of columns at their positions.
func (r *csvReader) isHeader(cells []string) bool {
	for i, f := range r.format.fields {
		if at := r.at[i]; at < len(cells) && strings.EqualFold(strings.TrimSpace(cells[at]), f.spec.Name) {
			return true
		}
	}
	return false
}

// namesOnly reports whether the first row of a file without a header has the names of all columns at their positions. It is false if a
// column has numbers, since their errors show it.
func (r *csvReader) namesOnly(cells []string) bool {
	if r.format.opts.Header {
		return false
	}
	some := false
	for i, f := range r.format.fields {
		at := r.at[i]
		if at >= len(cells) {
			continue // the labels are missing
		}
		if f.numeric() || strings.TrimSpace(cells[at]) != f.spec.Name {
			return false
		}
		some = true
	}
	return some
}

// unreadNames is the error of a row for which namesOnly is true.
func (r *csvReader) unreadNames(cells []string) error {
	line, _ := r.csv.FieldPos(0)
	return &DataError{File: r.name, Line: line, Err: fmt.Errorf("the first row holds names (%s): set header: true, or rename the columns where these are values", firstOf(cells))}
}

// explainHeader returns the error of a first row that lacks the name of a
// column.
func (r *csvReader) explainHeader(names []string, err *DataError) error {
	if other := r.otherwise(err.Line, len(names)); other != nil {
		return other
	}
	if len(names) != r.format.cells || r.isHeader(names) {
		return err
	}
	some := false
	for i, f := range r.format.fields {
		if f.numeric() && !r.absent(names[r.at[i]]) {
			if some = isNumber(names[r.at[i]]); !some {
				return err
			}
		}
	}
	if !some {
		return err
	}
	return &DataError{File: r.name, Line: err.Line, Err: fmt.Errorf("the first row holds values, no names (%s): set header: false", firstOf(names))}
}

// firstOf lists the first cells of a row.
func firstOf(cells []string) string {
	const most = 5
	text := make([]string, 0, most+1)
	for i, c := range cells {
		if i == most {
			return strings.Join(append(text, "..."), ", ")
		}
		text = append(text, strings.Trim(shown(strings.TrimSpace(c)), `"`))
	}
	return strings.Join(text, ", ")
}

// mistaken returns an error if the file is a known kind of text other than CSV, else nil.
func (r *csvReader) mistaken() error {
	if r.first != nil {
		return mistaken(r.name, "csv", "CSV", r.first)
	}
	return mistakenFile(r.ctx, r.name, "csv", "CSV")
}

// otherwise returns an error if the file would be valid as another kind of file or with another
// delimiter, else nil. Its first row has cells cells.
func (r *csvReader) otherwise(line, cells int) error {
	if other := r.mistaken(); other != nil {
		return other
	}
	head := r.head()
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		return fileError(r.name, `lines end with a carriage return alone (old Mac text): end them with line feeds, for example with tr '\r' '\n'`)
	}
	comma, n := r.guess(head, cells)
	if n == 0 {
		return nil
	}
	more := ""
	if n != r.format.cells && !r.format.opts.Header {
		more = fmt.Sprintf(", and list all %d columns", n)
	}
	return &DataError{File: r.name, Line: line, Err: fmt.Errorf("cells are separated by %s here, not by %s: set delimiter: %s%s",
		delimiterName(comma), r.format.delimiter(), setting(comma), more)}
}

// guess returns a delimiter by which the first rows have more cells, preferably the expected number,
// and the number of cells; 0 if there is none.
func (r *csvReader) guess(head []byte, cells int) (comma rune, n int) {
	if cells == r.format.cells {
		return 0, 0
	}
	if whole := bytes.LastIndexByte(head, '\n') + 1; whole > 0 {
		head = head[:whole]
	}
	for _, c := range []rune{',', ';', '\t', '|', ':', 0} {
		switch k := r.format.cellsWith(c, head); {
		case c == r.format.comma || k < 2 || k <= cells:
		case k == r.format.cells:
			return c, k
		case n == 0:
			comma, n = c, k
		}
	}
	return comma, n
}

// head returns the first rows of the file.
func (r *csvReader) head() []byte {
	if r.first != nil {
		return r.first
	}
	f, err := openFile(r.ctx, r.name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := io.ReadFull(unmarked(f), head)
	return head[:n]
}

// cellsWith returns the number of cells that each of the first rows has with another delimiter, or 0 if the
// rows differ or have fewer than expected.
func (f *csvFormat) cellsWith(comma rune, text []byte) int {
	const rows = 20
	if comma == f.comment && comma != 0 {
		return 0
	}
	other := *f
	other.comma = comma
	in, n := other.rowsOf(bytes.NewReader(text)), 0
	for range rows {
		cells, err := in.Read()
		if eof(err) {
			break
		}
		if err != nil || n > 0 && len(cells) != n {
			return 0
		}
		n = len(cells)
	}
	return n
}
