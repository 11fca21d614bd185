package assess

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/inputs"
)

// trialRows is the number of rows in a batch of a trial.
const trialRows = 512

// trialIterator is a pass over the trials.
type trialIterator struct {
	*trials
	at, row int
	order   []int // permutation of the trial's column
}

// Next returns the next batch.
func (it *trialIterator) Next(ctx context.Context) (arrow.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if it.at == len(it.list) {
		return nil, io.EOF
	}
	t, n := it.list[it.at], len(it.sample.columns)
	if it.row == 0 && t.column >= 0 {
		it.order = t.order(n)
	}
	rows := min(trialRows, n-it.row)
	columns := make([]arrow.Array, it.schema.Arrow().NumFields())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for c := range columns {
		cells := make([]arrow.Array, rows)
		for i := range cells {
			from := it.row + i
			if c == t.column {
				from = it.order[from]
			}
			cells[i] = it.sample.columns[from][c]
		}
		var err error
		if columns[c], err = array.Concatenate(cells, memory.DefaultAllocator); err != nil {
			return nil, err
		}
	}
	if it.row += rows; it.row == n {
		it.at, it.row = it.at+1, 0
	}
	return array.NewRecord(it.schema.Arrow(), columns, int64(rows)), nil
}

// State is the next trial and row.
func (it *trialIterator) State() ([]byte, error) {
	return fmt.Appendf(nil, "%d %d", it.at, it.row), nil
}

// Restore moves to a trial and a row.
func (it *trialIterator) Restore(state []byte) error {
	var at, row int
	if _, err := fmt.Sscanf(string(state), "%d %d", &at, &row); err != nil || at < 0 || at > len(it.list) || row < 0 || row > 0 && (at == len(it.list) || row >= len(it.sample.columns)) {
		return fmt.Errorf("%w: expected a trial and a row, got %q", inputs.ErrBadState, state)
	}
	if it.at, it.row = at, row; row > 0 && it.list[at].column >= 0 {
		it.order = it.list[at].order(len(it.sample.columns))
	}
	return nil
}

// Close ends the pass.
func (it *trialIterator) Close() error { return nil }
