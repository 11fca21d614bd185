package inputs

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Unbatch makes a row of each entry of the first dimension of the named columns, as tf.data's unbatch does for elements. A row whose
// columns have the shape [24 3] becomes 24 rows of shape [3]; a ragged column gives as many rows as it has values. In each row the
// named columns must have the same number of entries; the other columns are repeated. Without names it takes all columns.
func Unbatch(columns ...string) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		u, err := newUnbatcher(up.schema, columns)
		if err != nil {
			return up.refuse("unbatch: %w", err)
		}
		return FlatMap(Mapper{Name: fmt.Sprintf("unbatch%q", columns), Schema: func(*Schema) (*Schema, error) { return u.to, nil }, Map: u.apply})(ds)
	}
}

// unbatcher splits the columns of one schema.
type unbatcher struct {
	to     *Schema
	splits []bool // for each column
	dense  int    // first dimension of the columns with a shape; 0: there are none
}

func newUnbatcher(in *Schema, names []string) (*unbatcher, error) {
	for _, name := range names {
		if _, err := in.Column(name); err != nil {
			return nil, err
		}
	}
	u := &unbatcher{splits: make([]bool, len(in.columns))}
	columns := slices.Clone(in.columns)
	for i := range columns {
		c := &columns[i]
		u.splits[i] = len(names) == 0 || slices.Contains(names, c.Name)
		switch {
		case !u.splits[i]:
			continue
		case !c.Ragged && len(c.Shape) == 0:
			return nil, fmt.Errorf("column %q has no dimension to make rows of: name the columns that have one, the others are repeated", c.Name)
		case !c.Ragged && u.dense > 0 && c.Shape[0] != u.dense:
			return nil, fmt.Errorf("column %q has %d entries, another column %d: name columns with equally many", c.Name, c.Shape[0], u.dense)
		case !c.Ragged:
			u.dense, c.Shape = c.Shape[0], c.Shape[1:]
		}
		c.Ragged, c.Default = false, nil
	}
	var err error
	u.to, err = NewSchema(columns...)
	return u, err
}

func (u *unbatcher) apply(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
	counts, err := u.counts(in, rows.First)
	if err != nil {
		return nil, err
	}
	spans, total := make([]span, len(counts)), 0 // one span per input row, with a row for each entry
	for i, n := range counts {
		spans[i] = span{0, i, n}
		total += n
	}
	cols := make([]arrow.Array, 0, len(u.splits))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, split := range u.splits {
		t := u.to.arrow.Field(i).Type
		if split {
			cols = append(cols, entries(in.Column(i), t))
			continue
		}
		d, err := repeatRows(rows, in.Column(i), t, spans)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", u.to.columns[i].Name, err)
		}
		cols = append(cols, array.MakeFromData(d))
		d.Release()
	}
	return array.NewRecord(u.to.arrow, cols, int64(total)), nil
}

// counts returns the number of entries of each row, which must be the same in all split columns.
func (u *unbatcher) counts(in arrow.Record, first int64) ([]int, error) {
	counts := make([]int, in.NumRows())
	for i := range counts {
		counts[i] = -1
		if u.dense > 0 {
			counts[i] = u.dense
		}
	}
	for k, split := range u.splits {
		list, ragged := in.Column(k).(*array.List)
		if !split || !ragged {
			continue
		}
		for i := range counts {
			from, to := list.ValueOffsets(i)
			n := int(to - from)
			if counts[i] >= 0 && counts[i] != n {
				return nil, &RowError{Column: u.to.columns[k].Name, Row: first + int64(i), Err: fmt.Errorf("unbatch: it has %d entries, another column has %d: expected equally many", n, counts[i])}
			}
			counts[i] = n
		}
	}
	return counts, nil
}

// entries returns the entries of all lists of a column, without a copy.
func entries(col arrow.Array, t arrow.DataType) arrow.Array {
	list := col.(array.ListLike)
	from, to := 0, 0
	switch l := col.(type) {
	case *array.FixedSizeList:
		size := int(l.DataType().(*arrow.FixedSizeListType).Len())
		from, to = l.Offset()*size, (l.Offset()+l.Len())*size
	case *array.List:
		if l.Len() > 0 {
			first, _ := l.ValueOffsets(0)
			_, last := l.ValueOffsets(l.Len() - 1)
			from, to = int(first), int(last)
		}
	}
	elems := array.NewSlice(list.ListValues(), int64(from), int64(to))
	lt, ok := t.(*arrow.FixedSizeListType)
	if !ok {
		return elems
	}
	defer elems.Release()
	return listsOf(elems, lt)
}

// listsOf returns consecutive elements as fixed-size lists, without a copy.
func listsOf(elems arrow.Array, t *arrow.FixedSizeListType) arrow.Array {
	d := array.NewData(t, elems.Len()/int(t.Len()), noValidity, []arrow.ArrayData{elems.Data()}, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// repeatRows copies row i of a column as often as span i has entries.
func repeatRows(rows Rows, col arrow.Array, t arrow.DataType, counts []span) (arrow.ArrayData, error) {
	var spans []span
	for _, s := range counts {
		for range s.n {
			spans = append(spans, span{0, s.start, 1})
		}
	}
	return gatherData(rows.Allocator, t, []arrow.ArrayData{col.Data()}, spans)
}
