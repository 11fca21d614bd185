package inputs

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// keptViews bounds the number of views that a data set in memory keeps.
const keptViews = 256

// views keeps the first records that a data set in memory delivered, so that later passes
// over little data allocate nothing. They are never released:
// their memory is garbage collected.
type views struct {
	mu    sync.Mutex
	fresh func(start, rows int64) arrow.Record
	kept  map[[2]int64]arrow.Record
}

func keepViews(fresh func(start, rows int64) arrow.Record) *views {
	return &views{fresh: fresh, kept: map[[2]int64]arrow.Record{}}
}

// view returns consecutive rows, which the caller releases, or nil.
func (v *views) view(start, rows int64) arrow.Record {
	v.mu.Lock()
	defer v.mu.Unlock()
	rec := v.kept[[2]int64{start, rows}]
	if rec == nil {
		if rec = v.fresh(start, rows); rec == nil || len(v.kept) == keptViews {
			return rec
		}
		v.kept[[2]int64{start, rows}] = rec
	}
	rec.Retain()
	return rec
}
