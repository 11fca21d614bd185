package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/goestimator/goestimator/inputs"
)

// foldColumn is the name of the column of fold numbers.
const foldColumn = "goestimator.fold"

// foldRows counts the rows of the folds.
type foldRows struct {
	total  int
	held   []int          // held-out rows of each fold
	first  int            // rows before the first held-out block, by time
	values map[string]int // rows by the value of the class or group column
}

// shownClasses is the number of classes that a message names.
const shownClasses = 5

// data are all rows of the input: labels and the column that determines the fold, then the number of the fold.
func (c *crossval) data(ctx context.Context) (inputs.Dataset, error) {
	in := c.cfg.Resolve(c.cfg.Train.Input)
	plain := inputs.DefaultSpec()
	in.Split, in.Shuffle, in.Repeat, in.DropRemainder = plain.Split, 0, false, false
	in.Transforms, in.Buckets, in.Augment = nil, plain.Buckets, plain.Augment
	in.Scale, in.Mean, in.Std = 0, nil, nil
	in.Take = 0
	in.BatchSize = 256
	by := c.by.Stratify + c.by.Group + c.by.Time
	in.Columns = slices.Clone(in.Columns)
	found := len(in.Columns) == 0
	for i, col := range in.Columns {
		switch {
		case col.Name == by && col.Role == inputs.Ignore:
			in.Columns[i] = col.Kept(in.Format)
		case col.Name != by && col.Role != inputs.Label && !c.inMemory(): // in memory, rows that cannot be read must not count
			in.Columns[i].Role = inputs.Ignore
		}
		found = found || col.Name == by
	}
	if !found && (in.Format == "parquet" || in.Format == "arrow") && by != "" && by != inputs.FileOrder {
		in.Columns = append(in.Columns, inputs.ColumnSpec{Name: by, Role: inputs.Feature})
	}
	c.readSome(in.Columns)
	ds, err := inputs.Open(ctx, in, inputs.Context{Mode: inputs.Eval})
	if err != nil {
		return nil, fmt.Errorf("train.input: %w", err)
	}
	return c.by.Number(foldColumn)(ds), nil
}

// readSome reads the first feature if there are neither labels nor a column for the folds: rows are counted by reading something.
func (c *crossval) readSome(columns []inputs.ColumnSpec) {
	ignored := func(col inputs.ColumnSpec) bool { return col.Role == inputs.Ignore }
	if slices.ContainsFunc(columns, func(col inputs.ColumnSpec) bool { return !ignored(col) }) {
		return
	}
	for i, col := range c.cfg.Train.Input.Columns {
		if !ignored(col) {
			columns[i].Role = col.Role
			return
		}
	}
}

// each calls f with the records of a data set.
func each(ctx context.Context, ds inputs.Dataset, f func(arrow.Record) error) (err error) {
	it, err := ds.Iterate(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for {
		rec, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = f(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
}

// count reads all rows.
func (c *crossval) count(ctx context.Context) (foldRows, error) {
	rows := foldRows{held: make([]int, c.by.Folds), values: map[string]int{}}
	ds, err := c.data(ctx)
	if err != nil {
		return rows, err
	}
	by := ds.Schema().Index(c.by.Stratify + c.by.Group)
	err = each(ctx, ds, func(rec arrow.Record) error {
		folds := rec.Column(int(rec.NumCols()) - 1).(*array.Int64)
		for i := range folds.Len() {
			rows.total++
			if k := folds.Value(i); k < 0 {
				rows.first++
			} else {
				rows.held[k]++
			}
			if by >= 0 && len(rows.values) <= 1<<16 {
				rows.values[foldValueText(rec.Column(by), i)]++
			}
		}
		return nil
	})
	if err != nil {
		return rows, fmt.Errorf("train.input: %w", err)
	}
	return rows, nil
}

func foldValueText(column arrow.Array, i int) string {
	if b, ok := column.(*array.Binary); ok {
		return string(b.Value(i))
	}
	return column.ValueStr(i)
}

// trained is the number of rows a fold trains on: the rows of all other folds or, by time, of all earlier ones.
func (r foldRows) trained(fold int, byTime bool) int {
	if !byTime {
		return r.total - r.held[fold]
	}
	n := r.first
	for _, held := range r.held[:fold] {
		n += held
	}
	return n
}

// check refuses folds without rows, and warns of classes that are missing from some folds.
func (r foldRows) check(c *crossval) error {
	k := slices.Index(r.held, 0)
	switch {
	case r.total == 0:
		return usage(errors.New("train.input has no rows"))
	case c.by.Group != "" && len(r.values) < c.by.Folds:
		return usage(fmt.Errorf("--by group:%s: the column has %d groups, expected at least as many as folds (%d)", c.by.Group, len(r.values), c.by.Folds))
	case c.by.Time != "" && (k >= 0 || r.first == 0):
		return usage(fmt.Errorf("--by %s: %d rows do not make %d blocks of different times: take fewer folds", c.flags.by, r.total, c.by.Folds+1))
	case k >= 0:
		return usage(fmt.Errorf("fold %d of %d has none of the %d rows: take fewer folds", k, c.by.Folds, r.total))
	}
	if c.by.Stratify == "" {
		return nil
	}
	var few []string
	label, _ := labelColumn(c.cfg)
	for _, v := range slices.Sorted(maps.Keys(r.values)) {
		if n := r.values[v]; n < c.by.Folds {
			few = append(few, fmt.Sprintf("%s (%d)", classText(v, label.Vocabulary, c.by.Stratify == label.Name), n))
		}
	}
	if len(few) > 0 {
		shown := few[:min(len(few), shownClasses)]
		c.app.log.Warn("classes have fewer rows than there are folds: some folds have none of them", "classes", strings.Join(shown, ", "), "number", len(few), "folds", c.by.Folds)
	}
	return nil
}

// classText is the name of a class.
func classText(value string, words []string, named bool) string {
	for i, w := range words {
		if named && value == fmt.Sprint(i) {
			return w
		}
	}
	return value
}
