package tabular

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goestimator/goestimator/inputs"
)

// headBytes is the length of the beginning of a text from which its form is inferred.
const headBytes = 1 << 18

// Form says how to read a file.
type Form struct {
	Format    string // csv, jsonl, parquet or arrow
	Delimiter string // csv: a character, or whitespace
	Header    bool   // csv
	Decimal   string // csv: the decimal mark of numbers, "." or ","
}

// delimiters are the known delimiters; among equally good ones, the first is chosen.
var delimiters = []string{",", ";", "\t", "|"}

// formOf infers the form of a file from its name and content. A header must contain label, unless label is empty.
func formOf(ctx context.Context, path, label string) (Form, error) {
	name := strings.TrimSuffix(strings.ToLower(inputs.BaseName(path)), ".gz")
	switch filepath.Ext(name) {
	case ".parquet", ".pq":
		return Form{Format: "parquet"}, nil
	case ".arrow", ".feather", ".ipc":
		return Form{Format: "arrow"}, nil
	}
	head, whole, err := headOf(ctx, path)
	if err != nil {
		return Form{}, err
	}
	trimmed := bytes.TrimSpace(head)
	switch {
	case len(trimmed) == 0:
		return Form{}, fmt.Errorf("%s is empty: expected a table with a row of names", path)
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Form{Format: "parquet"}, nil
	case bytes.HasPrefix(head, []byte("ARROW1")):
		return Form{Format: "arrow"}, nil
	case trimmed[0] == '{':
		return Form{Format: "jsonl"}, nil
	case isJSONArray(trimmed, whole):
		return Form{}, fmt.Errorf("%s is a JSON array: expected JSON lines, one object on each line: convert it, for example by jq -c '.[]'", path)
	case IsUTF16(head):
		return Form{}, fmt.Errorf("%s is UTF-16, expected UTF-8: convert it, for example by iconv -f utf-16 -t utf-8", path)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return Form{}, fmt.Errorf("%s is a ZIP archive, as workbooks of spreadsheets are: unpack it, or save the sheet as CSV", path)
	case bytes.IndexByte(head, 0) >= 0:
		return Form{}, fmt.Errorf("%s is not a text, Parquet or Arrow file: expected CSV, JSON lines, Parquet or Arrow", path)
	case !utf8.Valid(trimUTF8(head, whole)):
		return Form{}, fmt.Errorf("%s is not UTF-8: convert it, for example by iconv -f latin1 -t utf-8", path)
	}
	if lines := bytes.TrimRight(head, "\r"); bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(lines, '\r') >= 0 {
		return Form{}, fmt.Errorf("%s has lines that end by a carriage return alone: convert it, for example by tr '\\r' '\\n'", path)
	}
	if first, _, _ := strings.Cut(string(head[:min(len(head), 10)]), "\n"); isForSpreadsheets(first) {
		return Form{}, fmt.Errorf("%s: the first line, %s, is for spreadsheets: remove it", path, strings.TrimSpace(first))
	}
	return textForm(head, whole, label), nil
}

// isForSpreadsheets reports whether a line specifies the delimiter, like "sep=;".
func isForSpreadsheets(line string) bool {
	line = strings.Trim(line, "\"\r")
	return len(line) == len("sep=;") && strings.HasPrefix(line, "sep=")
}

// headOf returns the beginning of a file, decompressed, and whether it is the whole file.
func headOf(ctx context.Context, path string) (head []byte, whole bool, err error) {
	f, err := openText(ctx, path)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head = make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return head[:n], true, nil
	}
	return head[:n], false, err
}

// text is a file that is read from the start, without a byte order mark.
type text struct {
	io.Reader
	io.Closer
}

// openText opens a file or an object, decompressed.
func openText(ctx context.Context, path string) (text, error) {
	f, err := inputs.OpenFile(ctx, path)
	if err != nil {
		return text{}, err
	}
	from := io.Reader(f)
	if inputs.IsURL(path) { // the store's errors do not name the object
		from = &named{f, path}
	}
	b := bufio.NewReaderSize(from, 1<<16)
	if mark, _ := b.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = b.Discard(3)
	}
	return text{b, f}, nil
}

// named is a reader that adds a name to its errors.
type named struct {
	io.Reader
	name string
}

// Read implements io.Reader.
func (r *named) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s: %w", r.name, err)
	}
	return n, err
}

// IsUTF16 reports whether a text begins with the byte order mark of UTF-16, or has zeros in every second byte.
func IsUTF16(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}
	zeros, n := [2]int{}, min(len(head), 1000)
	for i, b := range head[:n] {
		if b == 0 {
			zeros[i%2]++
		}
	}
	return n > 3 && (zeros[0] == 0 && zeros[1] > n/3 || zeros[1] == 0 && zeros[0] > n/3)
}

// trimUTF8 removes an incomplete character at the end, unless b is the whole file.
func trimUTF8(b []byte, whole bool) []byte {
	if whole {
		return b
	}
	for i := 0; i < utf8.UTFMax && len(b) > 0; i++ {
		if r, n := utf8.DecodeLastRune(b); r != utf8.RuneError || n != 1 {
			break
		}
		b = b[:len(b)-1]
	}
	return b
}

func textForm(head []byte, whole bool, label string) Form {
	best, bestScore := Form{Format: "csv", Delimiter: ",", Decimal: "."}, -1.0
	for _, d := range delimiters {
		rows := firstRows(head, whole, d)
		score := regularity(rows)
		if d != "," && score >= 1 && hasDecimalCommas(rows) {
			score++ // with commas as delimiters, rows may be as regular, with one more cell
		}
		if score > bestScore {
			best.Delimiter, bestScore = d, score
		}
	}
	if isAligned(head, whole, best.Delimiter, bestScore) {
		best.Delimiter = whitespace
	}
	rows := firstRows(head, whole, best.Delimiter)
	best.Header = hasHeader(rows, label)
	if best.Delimiter != "," && hasDecimalCommas(rows) {
		best.Decimal = ","
	}
	return best
}

// isJSONArray reports whether a text is a JSON array, or begins like an array of objects or arrays.
func isJSONArray(text []byte, whole bool) bool {
	if text[0] != '[' {
		return false
	}
	inner := bytes.TrimSpace(text[1:])
	return whole && json.Valid(text) || len(inner) > 1 && (inner[0] == '{' && bytes.HasPrefix(bytes.TrimSpace(inner[1:]), []byte{'"'}) || inner[0] == '[')
}

// whitespace is the delimiter for cells separated by spaces and tabs.
const whitespace = "whitespace"

// isAligned reports whether spaces and tabs separate the cells of all rows. Either no other delimiter does, or tabs give less
// than half as many cells, as in lines whose only tab is before a name.
func isAligned(head []byte, whole bool, other string, score float64) bool {
	if score >= 0.5 && other != "\t" {
		return false
	}
	rows := firstRows(head, whole, whitespace)
	if len(rows) < 2 {
		return false
	}
	cells := len(rows[0])
	if slices.ContainsFunc(rows, func(r []string) bool { return len(r) != cells }) {
		return false
	}
	return cells > 1 && (score < 0.5 || cells > 2*len(firstRows(head, whole, other)[0]))
}

// rowReader reads rows of cells as package inputs does; each row is valid until the next Read.
type rowReader interface {
	Read() ([]string, error)
	FieldPos(cell int) (line, column int)
}

// reader returns a reader of rows.
func reader(in io.Reader, delimiter string) rowReader {
	if delimiter == whitespace {
		return inputs.NewAlignedRows(in, 0)
	}
	r := csv.NewReader(in)
	r.ReuseRecord = true
	r.Comma, _ = utf8.DecodeRuneInString(delimiter)
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, delimiter != "\t"
	return r
}

// firstRows returns up to 1000 rows. If head is not the whole file, the last row may be incomplete and is left out.
func firstRows(head []byte, whole bool, delimiter string) [][]string {
	r := reader(bytes.NewReader(head), delimiter)
	var rows [][]string
	for len(rows) < 1000 {
		row, err := r.Read()
		if err != nil {
			break
		}
		row = slices.Clone(row)
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row)
	}
	if !whole && len(rows) > 1 && len(rows) < 1000 {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// regularity is the share of rows with the most common number of cells, slightly more if rows have many cells; 0 for one cell.
func regularity(rows [][]string) float64 {
	if len(rows) == 0 {
		return 0
	}
	counts := map[int]int{}
	for _, r := range rows {
		counts[len(r)]++
	}
	best := 0.0
	for cells, n := range counts {
		score := float64(n) / float64(len(rows))
		if cells == 1 {
			score = 0
		}
		best = max(best, score+min(float64(cells), 100)*1e-4*score)
	}
	return best
}

// hasHeader reports whether the first row has names: it contains the label, or it has no numbers and more columns speak for names
// (numbers below a text) than against (the text occurs again). Rows equal to the first do not count: joined files repeat the header.
func hasHeader(rows [][]string, label string) bool {
	if len(rows) == 0 {
		return false
	}
	first := rows[0]
	if label != "" && slices.Contains(first, label) {
		return true
	}
	below := slices.DeleteFunc(slices.Clone(rows[1:]), func(r []string) bool { return len(first) > 2 && slices.Equal(r, first) })
	votes := 0
	for i, cell := range first {
		if _, numeric := parseNumber(cell, ""); numeric || isMark(cell) && cell != "" {
			return false
		}
		seen, numbers, cells := 0, 0, 0
		for _, r := range below {
			if i >= len(r) || r[i] == "" || isMark(r[i]) {
				continue
			}
			cells++
			if _, ok := parseNumber(r[i], ""); ok {
				numbers++
			}
			if r[i] == cell {
				seen++
			}
		}
		switch {
		case seen > 0:
			votes -= 2
		case cells > 0 && numbers == cells:
			votes += 2
		case cells > 0:
			votes++
		}
	}
	return votes > 0
}

// hasDecimalCommas reports whether more numbers have decimal commas than decimal points.
func hasDecimalCommas(rows [][]string) bool {
	commas, points := 0, 0
	for _, r := range rows {
		for _, c := range r {
			if _, ok := parseNumber(c, ","); ok && strings.Contains(c, ",") {
				commas++
			}
			if _, ok := parseNumber(c, "."); ok && strings.Contains(c, ".") {
				points++
			}
		}
	}
	return commas > points
}

// parseNumber parses a number with this decimal mark; an empty mark allows both.
func parseNumber(cell, decimal string) (float64, bool) {
	if cell == "" || len(cell) > 64 || !plainNumeral(cell) {
		return 0, false
	}
	if decimal != "." && strings.Count(cell, ",") == 1 && (decimal == "," || !strings.Contains(cell, ".")) {
		cell = strings.Replace(strings.ReplaceAll(cell, ".", ""), ",", ".", 1)
	} else if decimal == "," && strings.Contains(cell, ".") && !hasDecimalPoint(cell) {
		cell = strings.ReplaceAll(cell, ".", "")
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil
}

// hasDecimalPoint reports whether a number has points other than separators of groups of three digits. A first group does not start with 0.
func hasDecimalPoint(cell string) bool {
	whole, _, _ := strings.Cut(cell, ",")
	parts := strings.Split(strings.TrimLeft(whole, "+-"), ".")
	if len(parts) == 1 {
		return false
	}
	return len(parts[0]) < 1 || len(parts[0]) > 3 || parts[0][0] == '0' || slices.ContainsFunc(parts[1:], func(s string) bool { return len(s) != 3 || strings.ContainsAny(s, "eE+-") })
}

// plainNumeral reports whether a cell has digits, and no letters that are only in Go's numerals.
func plainNumeral(cell string) bool {
	digits := false
	for i := range len(cell) {
		switch c := cell[i]; {
		case '0' <= c && c <= '9':
			digits = true
		case c == 'x' || c == 'X' || c == '_' || c == 'p' || c == 'P':
			return false
		}
	}
	return digits
}

// marks are cells that stand for missing values, in the order in which configs list them.
var marks = []string{"?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", "."}

// wordMarks are the marks that may also be class names.
var wordMarks = []string{"NA", "N/A", "n/a", "NULL", "null", "None"}

func isMark(cell string) bool { return cell == "" || slices.Contains(marks, cell) }
