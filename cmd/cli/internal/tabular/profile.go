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
	sampledCell = 1 << 21 // bound on the cells of the sample
	hashedRows  = 1 << 20 // bound on the rows that are compared for duplicates
	mostColumns = 1 << 15
)

// Profile describes a table.
type Profile struct {
	Path       string
	Form       Form
	Rows       int64
	Columns    []Column
	Duplicates int64    // rows equal to an earlier one
	Compared   int64    // rows compared for Duplicates
	Repeated   int64    // rows that repeat the header; Rows does not count them
	Folders    []string // keys of folders key=value that are no columns, as for formats other than Parquet and Arrow
	Label      *Label
	Sampled    int // rows in the sample used for relations to the label
	sample     [][]string
	relations  []Relation // nil: not computed yet
}

// Label describes the column to predict.
type Label struct {
	Column int
	Task   Task
	// Classes are the values of a class label with their counts, ordered by id.
	Classes []frequent.Entry[string]
	// Missing is the number of rows without a label.
	Missing int64
	// Words are classes that stand for missing values in other columns.
	Words []string
}

// Task is the kind of prediction.
type Task string

// The tasks.
const (
	Binary     Task = "binary classification"
	Multiclass Task = "classification"
	Regression Task = "regression"
)

// UnknownLabelError reports that a table has no column with the name of the label.
type UnknownLabelError struct {
	Label string // empty: none was named
	Names []string
}

// Error lists the candidates.
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

// Options are the options of Read.
type Options struct {
	Label string // name of the column to predict; empty: none
	Task  Task   // empty: inferred from the label
	Form  *Form  // nil: inferred from the file
}

// Read analyses a table in one pass: a file, or the files of a folder or a glob. All files have the form of the first.
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

// ReadDataset analyses the rows of a dataset of records, which must be finite; path is its name.
func ReadDataset(ctx context.Context, ds inputs.Dataset, path string, o Options) (*Profile, error) {
	src, err := openDataset(ctx, ds)
	if err != nil {
		return nil, err
	}
	return profileOf(ctx, &Profile{Path: path, Form: Form{Format: "input", Decimal: "."}}, src, o)
}

// profileOf makes one pass over the rows of a source and closes it.
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

// Labelled returns the number of rows with a label.
func (p *Profile) Labelled() int64 { return p.Rows - p.Label.Missing }

// labelled reports whether a cell of the label column is a label.
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

// Names returns the column names that are not empty; a name that several columns share appears once.
func (p *Profile) Names() []string {
	var out []string
	for _, c := range p.Columns {
		if c.Name != "" && !c.Duplicate {
			out = append(out, c.Name)
		}
	}
	return out
}

// watch makes a pass over the rows.
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
				columns = 1 // all classes of a label are wanted
			}
			w := newWatcher(src.names[i], src.kinds[i], p.Form.Decimal, columns)
			w.rows, w.empty = p.Rows, p.Rows // the column may appear after earlier rows
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

// rowHash hashes the cells that are not empty, so that columns that appear later do not change it.
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

// widen adds empty cells to rows of the sample for columns that appeared later.
func (p *Profile) widen(columns int) {
	for i, row := range p.sample {
		if len(row) < columns {
			p.sample[i] = append(row, make([]string, columns-len(row))...)
		}
	}
}

// keep samples a row: every row has the same chance to be in the sample.
func (p *Profile) keep(row []string, most int) {
	if len(p.sample) > most { // the limit drops when columns appear later
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
