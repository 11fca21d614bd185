package tabular

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// rowSource reads the rows of a file as texts; a missing value is empty.
type rowSource struct {
	names []string // for JSON lines, a row may add names
	kinds []Kind   // kinds by the format; Unknown if the format does not say
	next  func() ([]string, error)
	close func() error
	// unreadable says why a column cannot be read, by name.
	unreadable map[string]string
	// repeated counts the rows so far that repeat the header; they are left out.
	repeated int64
}

// open opens the rows of several files in turn. It fails for files that are no tables.
func open(ctx context.Context, files []string, f Form) (*rowSource, error) {
	switch f.Format {
	case "csv":
		s, err := openCSV(ctx, files[0], f)
		if err == nil && len(files) > 1 {
			s.followedBy(files[1:], files[0], func(file string) (*rowSource, error) { return openCSV(ctx, file, f) })
		}
		return s, err
	case "jsonl":
		return openJSONL(ctx, files)
	}
	return openArrow(ctx, files, f.Format)
}

func openCSV(ctx context.Context, path string, f Form) (*rowSource, error) {
	t, err := openText(ctx, path)
	if err != nil {
		return nil, err
	}
	b := &bounded{ctx: ctx, in: t, path: path}
	r := reader(b, f.Delimiter)
	first, err := r.Read()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), t.Close())
	}
	s := &rowSource{close: t.Close}
	kept := slices.Clone(first)
	if i := slices.IndexFunc(kept, notUTF8); i >= 0 {
		return nil, errors.Join(utf8Error(path, 1), t.Close())
	}
	for i, c := range kept {
		kept[i] = strings.TrimSpace(c)
		s.names = append(s.names, kept[i])
		if !f.Header {
			s.names[i] = "column" + strconv.Itoa(i+1)
		}
	}
	s.kinds = make([]Kind, len(s.names))
	pending := !f.Header
	s.next = func() ([]string, error) {
		if pending {
			pending = false
			return kept, nil
		}
		b.read = 0
		row, err := r.Read()
		for err == nil && f.Header && isRepeated(row, kept) {
			s.repeated, b.read = s.repeated+1, 0
			row, err = r.Read()
		}
		if err != nil {
			if e := (*csv.ParseError)(nil); errors.As(err, &e) {
				err = fmt.Errorf("%s: %w: quote cells that hold quotes or line breaks", path, err)
			}
			return nil, err
		}
		if len(row) != len(s.names) {
			line, _ := r.FieldPos(0)
			if len(s.names) == 1 && strings.HasPrefix(kept[0], "#") {
				return nil, fmt.Errorf("%s: line %d has %d cells, and the first line, %.40q, is a comment: remove the lines above the names", path, line, len(row), kept[0])
			}
			return nil, fmt.Errorf("%s: line %d has %d cells, expected %d as in the first line: correct the line, or quote cells that hold %q", path, line, len(row), len(s.names), f.Delimiter)
		}
		for i := range row {
			if row[i] = strings.TrimSpace(row[i]); notUTF8(row[i]) {
				line, _ := r.FieldPos(i)
				return nil, utf8Error(path, line)
			}
		}
		return row, nil
	}
	return s, nil
}

// isRepeated reports whether a row repeats the header, as in concatenated files. With only two columns it may be a row of values.
func isRepeated(row, names []string) bool {
	return len(names) > 2 && slices.EqualFunc(row, names, func(cell, name string) bool { return cell == name || strings.TrimSpace(cell) == name })
}

// sampleLines is the number of JSON lines whose names are sorted; names that appear later follow.
const sampleLines = 1000

func openJSONL(ctx context.Context, files []string) (*rowSource, error) {
	s, path := &rowSource{}, files[0]
	t, err := openTexts(ctx, files)
	if err != nil {
		return nil, err
	}
	b := &bounded{ctx: ctx, in: t, path: path}
	d := json.NewDecoder(b)
	known := map[string]bool{}
	for range sampleLines {
		b.read = 0
		var object map[string]json.RawMessage
		if err := d.Decode(&object); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, errors.Join(fmt.Errorf("%s: %w: expected a JSON object on each line", path, err), t.Close())
		}
		for name := range object {
			if !known[name] {
				known[name] = true
				s.names = append(s.names, name)
			}
		}
		if len(s.names) > mostColumns {
			break // watch reports it
		}
	}
	slices.Sort(s.names)
	s.kinds = make([]Kind, len(s.names))
	if err := t.Close(); err != nil {
		return nil, err
	}
	if t, err = openTexts(ctx, files); err != nil {
		return nil, err
	}
	b = &bounded{ctx: ctx, in: t, path: path}
	d = json.NewDecoder(b)
	rows := 0
	row := make([]string, len(s.names))
	s.close = t.Close
	s.next = func() ([]string, error) {
		var object map[string]json.RawMessage
		b.read = 0
		if err := d.Decode(&object); err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("%s: object %d: %w: expected a JSON object on each line", path, rows+1, err)
			}
			return nil, err
		}
		rows++
		var late []string
		for name := range object {
			if !known[name] {
				known[name], late = true, append(late, name)
			}
		}
		slices.Sort(late)
		s.names, s.kinds, row = append(s.names, late...), append(s.kinds, make([]Kind, len(late))...), append(row, make([]string, len(late))...)
		for i, name := range s.names {
			row[i] = ""
			if err := jsonCell(&row[i], &s.kinds[i], object[name]); err != nil {
				return nil, err
			}
		}
		return row, nil
	}
	return s, nil
}

// jsonCell converts a value to a text, and records its kind.
func jsonCell(cell *string, kind *Kind, raw json.RawMessage) error {
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case raw[0] == '"':
		*kind = max(*kind, Text)
		return json.Unmarshal(raw, cell)
	case raw[0] == '[' || raw[0] == '{':
		*kind = Nested
	default:
		*cell = string(raw)
	}
	return nil
}
