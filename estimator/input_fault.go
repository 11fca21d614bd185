package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// located adds to an error of reading or encoding the input the place of its row in the files. It returns err
// itself where there is no such row, or its place is unknown.
func (s *session) located(ctx context.Context, ds inputs.Dataset, err error) error {
	if !errors.As(err, new(*inputs.RowError)) || errors.As(err, new(*inputs.DataError)) {
		return err
	}
	if at := s.locate(ctx, ds, s.encodes); at != nil {
		return at
	}
	return err
}

// locateNoticeAfter is how long the files are read again before that is logged.
const locateNoticeAfter = 3 * time.Second

// locate is inputs.Locate, which may read much data.
func (s *session) locate(ctx context.Context, ds inputs.Dataset, check func(context.Context, arrow.Record) error) *inputs.DataError {
	notice := time.AfterFunc(locateNoticeAfter, func() {
		s.est.log.Info("the input has a value that cannot be used: looking for its place in the files")
	})
	defer notice.Stop()
	return inputs.Locate(ctx, ds, check)
}

// encodes fails where the rows of a record cannot be encoded for a feed.
func (s *session) encodes(_ context.Context, rec arrow.Record) error {
	st := newStager(s.schema, s.feeds, 1)
	defer st.release()
	rec.Retain()
	return st.add(rec)
}

// inputFault is the error of a step that was caused by a value of the input.
type inputFault struct {
	what error
	at   error // the value's place
	met  error // the error of the step
}

func (e *inputFault) Error() string   { return fmt.Sprintf("%v: %v", e.what, e.at) }
func (e *inputFault) Unwrap() []error { return []error{e.at, e.met} }

// blamed returns the error of a step on the staged batches that met a NaN, an infinity or an index out of range. If a
// value of the input is the cause, the error names it; otherwise the model made it, and err is returned.
func (s *session) blamed(ctx context.Context, ds inputs.Dataset, st *stager, err error) error {
	c := s.suspicion(err)
	if c == nil {
		return err
	}
	at := st.first(c)
	if at == nil {
		return err
	}
	var fault error = at
	if place := s.locate(ctx, ds, c.rows(s.schema)); place != nil {
		fault = place
	}
	if loss := (*hooks.NaNLossError)(nil); errors.As(err, &loss) {
		loss.Cause = fmt.Errorf("%w: %w", c.what, fault)
		return err
	}
	return &inputFault{c.what, fault, err}
}

// valueCheck looks for the value of the input that made a step fail.
type valueCheck struct {
	columns []int
	what    error                    // the fault of the input
	bad     func(*tensor.Tensor) int // the first bad element; -1: none
	err     error                    // what is wrong with the value
}

// suspicion returns the check of the input that the error of a step calls for; nil: the input cannot be its cause.
func (s *session) suspicion(err error) *valueCheck {
	var met *engine.NumericsError
	var loss *hooks.NaNLossError
	var node *engine.NodeError
	var index *engine.IndexError
	switch {
	case errors.As(err, &node) && errors.As(err, &index):
		return s.outOfRange(node.Node, index)
	case errors.As(err, &met) && met.Fed:
		return notFinite(s.fedColumns(met.Node))
	case errors.As(err, &loss):
		return notFinite(s.fedColumns(""))
	}
	return nil
}

// first returns the first bad value of a record, nil for none.
func (c *valueCheck) first(r *inputs.TensorReader, rec arrow.Record) *inputs.RowError {
	tensors, err := r.Read(rec)
	if err != nil {
		return nil
	}
	for _, column := range c.columns {
		t := tensors[column]
		i := c.bad(t.Tensor)
		if i < 0 {
			continue
		}
		row, from := rowWith(t, i, int(rec.NumRows()))
		return &inputs.RowError{Column: t.Name, Row: int64(row), InBatch: true, Element: i - from, Value: fmt.Sprint(t.Tensor.Float(i)), Err: c.err}
	}
	return nil
}

// rows is the check for inputs.Locate.
func (c *valueCheck) rows(schema *inputs.Schema) func(context.Context, arrow.Record) error {
	return func(_ context.Context, rec arrow.Record) error {
		if bad := c.first(inputs.NewTensorReader(schema), rec); bad != nil {
			return bad
		}
		return nil
	}
}

// first returns the first bad value of the staged records, nil for none.
func (s *stager) first(c *valueCheck) *inputs.RowError {
	for n, rec := range s.records {
		if bad := c.first(s.readers[n], rec); bad != nil {
			return bad
		}
	}
	return nil
}

var (
	errInput     = errors.New("the input is not finite")
	errNotFinite = errors.New("not a finite number: correct it or leave such rows out; of CSV, missing_values may list it, where the column has a default")
)

// notFinite looks for a NaN or an infinity in these columns.
func notFinite(columns []int) *valueCheck {
	return &valueCheck{columns, errInput, func(t *tensor.Tensor) int {
		return slices.IndexFunc(floats(t), func(v float64) bool { return math.IsNaN(v - v) })
	}, errNotFinite}
}

// fedColumns returns the columns of the schema that the feed of that name takes, for "" the columns of all
// feeds that are used.
func (s *session) fedColumns(feed string) []int {
	used := map[graph.Output]bool{}
	for _, n := range s.program.graph.Nodes() {
		for _, in := range n.Inputs {
			used[in] = true
		}
	}
	var columns []int
	for i, f := range s.program.feeds {
		if feed == "" && used[f.output] || f.output.Node.Name == feed {
			columns = append(columns, s.feeds[i].column)
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// floats returns the elements of a tensor of real numbers, none of another one.
func floats(t *tensor.Tensor) []float64 {
	if !t.DType.Float() {
		return nil
	}
	out := make([]float64, t.Len())
	for i := range out {
		out[i] = t.Float(i)
	}
	return out
}

// rowWith returns the row that element i of a column lies in, and the row's first element.
func rowWith(t inputs.NamedTensor, i, rows int) (row, from int) {
	if t.Offsets == nil {
		each := t.Tensor.Len() / rows
		return i / each, i / each * each
	}
	for row = range rows {
		if i < int(t.Offsets[row+1]) {
			break
		}
	}
	return row, int(t.Offsets[row])
}
