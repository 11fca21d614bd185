package tabular

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/frequent"
	"github.com/goestimator/goestimator/internal/platform/spelling"
	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

const (
	sampledRows = 20_000
	sampledCell = 1 << 21 // cells of the sample at most
	hashedRows  = 1 << 20 // different rows that are compared for duplicates
	mostColumns = 1 << 15
)

// Profile is what is known of a table.
type Profile struct {
	Path       string
	Form       Form
	Rows       int64
	Columns    []Column
	Duplicates int64    // rows that are equal to an earlier one
	Compared   int64    // rows that were compared for it
	Repeated   int64    // rows that repeat the names of the columns, which are not counted
	Folders    []string // keys of folders key=value, which are columns of Parquet and Arrow files alone, of other ones
	Label      *Label
	Sampled    int // rows of the sample that relations to the label are computed of
	sample     [][]string
	relations  []Relation // nil: not computed yet
}

// Label is what is known of the column to predict.
type Label struct {
	Column int
	Task   Task
	// Classes are the values of a label of classes, in the order of their ids, with their counts.
	Classes []frequent.Entry[string]
	// Missing is how many rows have no label.
	Missing int64
	// Words are classes that mean a missing value in other columns.
	Words []string
}

// Task is what is predicted.
type Task string

// The tasks.
const (
	Binary     Task = "binary classification"
	Multiclass Task = "classification"
	Regression Task = "regression"
)

// UnknownLabelError says that a table has no such column.
type UnknownLabelError struct {
	Label string // "": none was named
	Names []string
}

// Error names the candidates.
func (e *UnknownLabelError) Error() string {
	list := ""
	for i, n := range e.Names {
		if i == 30 {
			list += fmt.Sprintf(", ... (%d columns)", len(e.Names))
			break
		}
		if i > 0 {
			list += ", "
		}
		list += n
	}
	if e.Label == "" {
		return "no label: name the column to predict; the columns are " + list
	}
	near, cost := "", 1+max(2, len(e.Label)/3)
	for _, n := range e.Names {
		if c := spelling.Distance(e.Label, n); c < cost {
			near, cost = n, c
		}
	}
	several := strings.FieldsFunc(e.Label, func(r rune) bool { return strings.ContainsRune(",;|", r) })
	if len(several) > 1 && !slices.ContainsFunc(several, func(l string) bool { return !slices.Contains(e.Names, strings.TrimSpace(l)) }) {
		return fmt.Sprintf("%q are %d columns, expected one: make a config for each, and leave the others out of it (--leave-out); several labels of one model are in docs/tasks/tabular.md", e.Label, len(several))
	}
	if near != "" {
		return fmt.Sprintf("no column %q; did you mean %q? The columns are %s", e.Label, near, list)
	}
	return fmt.Sprintf("no column %q: the columns are %s", e.Label, list)
}

// Options say how a table is looked at.
type Options struct {
	Label string // name of the column to predict; "": none
	Task  Task   // "": by the label
	Form  *Form  // nil: by the file
}

// Read looks at a table, in one pass: a file, or the files of a folder or a glob, which have the form of the first.
func Read(ctx context.Context, path string, o Options) (*Profile, error) {
	files, err := partsOf(path)
	if err != nil {
		return nil, err
	}
	form, err := formOf(ctx, files[0], o.Label)
	if err != nil {
		return nil, err
	}
	if o.Form != nil {
		form = *o.Form
	}
	src, err := open(ctx, files, form)
	if err != nil {
		return nil, err
	}
	return profileOf(ctx, &Profile{Path: path, Form: form, Folders: foldersLeftOut(files, form)}, src, o)
}

// ReadDataset looks at the rows of a dataset of records, which must have an end; path names it.
func ReadDataset(ctx context.Context, ds inputs.Dataset, path string, o Options) (*Profile, error) {
	src, err := openDataset(ctx, ds)
	if err != nil {
		return nil, err
	}
	return profileOf(ctx, &Profile{Path: path, Form: Form{Format: "input", Decimal: "."}}, src, o)
}

// profileOf passes over the rows of a source and closes it.
func profileOf(ctx context.Context, p *Profile, src *rowSource, o Options) (*Profile, error) {
	watchers, err := p.watch(ctx, src, o.Label)
	if err = errors.Join(err, src.close()); err != nil {
		return nil, err
	}
	p.Repeated = src.repeated
	if p.Rows == 0 {
		return nil, fmt.Errorf("%s has no rows: expected some below the names", p.Path)
	}
	named := map[string]int{}
	for _, n := range src.names {
		named[n]++
	}
	for i, w := range watchers {
		w.told = src.kinds[i]
		c := w.column(named[w.name] > 1)
		c.Unreadable = src.unreadable[w.name]
		p.Columns = append(p.Columns, c)
	}
	for i, c := range p.Columns {
		if c.Kind == Number && c.Reading.Part != "" {
			p.measure(i)
		}
	}
	p.Sampled = len(p.sample)
	if o.Label == "" {
		return p, nil
	}
	at := slices.Index(src.names, o.Label)
	if at < 0 {
		return p, &UnknownLabelError{o.Label, p.Names()}
	}
	if named[o.Label] > 1 {
		return p, fmt.Errorf("label %q: two columns have this name: rename one of them in the file", o.Label)
	}
	p.Label, err = labelOf(p.Columns[at], watchers[at], o.Task)
	if p.Label == nil {
		return p, err
	}
	if p.Label.Column = at; p.Label.Missing > 0 {
		p.sample = slices.DeleteFunc(p.sample, func(row []string) bool { return !p.labelled(row[at]) })
		p.Sampled = len(p.sample)
	}
	return p, err
}

// Labelled is how many rows have a label.
func (p *Profile) Labelled() int64 { return p.Rows - p.Label.Missing }

// labelled reports whether a cell of the label is one.
func (p *Profile) labelled(cell string) bool {
	number, isNumber := p.number(p.Label.Column, cell)
	if p.Label.Task == Regression {
		return isNumber
	}
	return slices.ContainsFunc(p.Label.Classes, func(e frequent.Entry[string]) bool {
		v, ok := p.number(p.Label.Column, e.Value)
		return e.Value == cell || ok && isNumber && v == number
	})
}

// Names returns the names of the columns that can be told apart.
func (p *Profile) Names() []string {
	var out []string
	for _, c := range p.Columns {
		if c.Name != "" && !c.Duplicate {
			out = append(out, c.Name)
		}
	}
	return out
}

// watch passes over the rows.
func (p *Profile) watch(ctx context.Context, src *rowSource, label string) ([]*watcher, error) {
	var out []*watcher
	most := 0
	seen := map[uint64]bool{}
	for {
		row, err := src.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(src.names) > mostColumns {
			return nil, fmt.Errorf("%s has %d columns: expected at most %d", p.Path, len(src.names), mostColumns)
		}
		for i := len(out); i < len(src.names); i++ {
			columns := len(src.names)
			if src.names[i] == label {
				columns = 1 // of a label, all classes are wanted
			}
			w := newWatcher(src.names[i], src.kinds[i], p.Form.Decimal, columns)
			w.rows, w.empty = p.Rows, p.Rows // a column that came later
			out = append(out, w)
			most = min(sampledRows, max(sampledCell/len(src.names), 100))
		}
		if err != nil {
			p.widen(len(out))
			return out, nil
		}
		if p.Rows&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i, cell := range row {
			out[i].add(cell)
		}
		if len(seen) < hashedRows {
			p.Compared++
			h := rowHash(row)
			if seen[h] {
				p.Duplicates++
			}
			seen[h] = true
		}
		p.Rows++
		p.keep(row, most)
	}
}

// rowHash is a hash of the cells that are not empty, so that columns which come later do not change it.
func rowHash(row []string) uint64 {
	h := fnv.New64a()
	var at [4]byte
	for i, cell := range row {
		if cell != "" {
			binary.LittleEndian.PutUint32(at[:], uint32(i))
			_, _ = h.Write(at[:])
			_, _ = h.Write([]byte(cell))
			_, _ = h.Write([]byte{0xff})
		}
	}
	return h.Sum64()
}

// widen gives rows of the sample the cells of columns that came later.
func (p *Profile) widen(columns int) {
	for i, row := range p.sample {
		if len(row) < columns {
			p.sample[i] = append(row, make([]string, columns-len(row))...)
		}
	}
}

// keep puts a row into the sample: every row has the same chance.
func (p *Profile) keep(row []string, most int) {
	if len(p.sample) > most { // columns came later
		clear(p.sample[most:])
		p.sample = p.sample[:most]
	}
	if len(p.sample) < most {
		p.sample = append(p.sample, briefRow(row))
		return
	}
	if at := splitmix.Mix(17, uint64(p.Rows)) % uint64(p.Rows); at < uint64(most) {
		p.sample[at] = briefRow(row)
	}
}

func briefRow(row []string) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = brief(cell)
	}
	return out
}
