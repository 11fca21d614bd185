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

// located adds the row's place in the files to an error from reading or encoding the input. It returns err itself if
// no row is at fault, or if its place is unknown.
func (s *session) located(ctx context.Context, ds inputs.Dataset, err error) error {
	if !errors.As(err, new(*inputs.RowError)) || errors.As(err, new(*inputs.DataError)) {
		return err
	}
	if at := s.locate(ctx, ds, s.encodes); at != nil {
		return at
	}
	return err
}

// locateNoticeAfter is the time after which the log says that the files are read again.
const locateNoticeAfter = 3 * time.Second

// locate is inputs.Locate, which may read much data.
func (s *session) locate(ctx context.Context, ds inputs.Dataset, check func(context.Context, arrow.Record) error) *inputs.DataError {
	notice := time.AfterFunc(locateNoticeAfter, func() {
		s.est.log.Info("the input has a value that cannot be used: looking for its place in the files")
	})
	defer notice.Stop()
	return inputs.Locate(ctx, ds, check)
}

// encodes returns an error if rows of a record cannot be encoded for a feed.
func (s *session) encodes(_ context.Context, rec arrow.Record) error {
	st := newStager(s.schema, s.feeds, 1)
	defer st.release()
	rec.Retain()
	return st.add(rec)
}

// errInput reports that a value of the input in a step is not finite.
var errInput = errors.New("the input is not finite")

// inputFault is the error of a step that a value of the input caused.
type inputFault struct {
	at  error // the value's place
	met error // the error of the step
}

func (e *inputFault) Error() string   { return fmt.Sprintf("%v: %v", errInput, e.at) }
func (e *inputFault) Unwrap() []error { return []error{e.at, e.met} }

// blamed returns the error of a step that met a NaN or an infinity. If a value of the staged batches is not
// finite, the error names that value; otherwise the model is the cause, and err is returned.
func (s *session) blamed(ctx context.Context, ds inputs.Dataset, st *stager, err error) error {
	var met *engine.NumericsError
	var loss *hooks.NaNLossError
	var columns []int
	switch {
	case errors.As(err, &met) && met.Fed:
		columns = s.fedColumns(met.Node)
	case errors.As(err, &loss):
		columns = s.fedColumns("")
	default:
		return err
	}
	at := st.notFinite(columns)
	if at == nil {
		return err
	}
	var fault error = at
	if place := s.locate(ctx, ds, s.finite(columns)); place != nil {
		fault = place
	}
	if loss != nil {
		loss.Cause = fmt.Errorf("%w: %w", errInput, fault)
		return err
	}
	return &inputFault{fault, err}
}

// finite returns a check that the values in these columns are finite.
func (s *session) finite(columns []int) func(context.Context, arrow.Record) error {
	return func(_ context.Context, rec arrow.Record) error {
		if bad := notFinite(inputs.NewTensorReader(s.schema), rec, columns); bad != nil {
			return bad
		}
		return nil
	}
}

// fedColumns returns the columns of the schema that the feed of that name takes, or for "" the columns of all
// used feeds.
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

// notFinite returns the first value of the staged records in these columns that is not finite, nil for none.
func (s *stager) notFinite(columns []int) *inputs.RowError {
	for n, rec := range s.records {
		if bad := notFinite(s.readers[n], rec, columns); bad != nil {
			return bad
		}
	}
	return nil
}

var errNotFinite = errors.New("not a finite number: correct it or leave such rows out; of CSV, missing_values may list it, where the column has a default")

// notFinite returns the first value of a record in these columns that is NaN or infinite, nil for none.
func notFinite(r *inputs.TensorReader, rec arrow.Record, columns []int) *inputs.RowError {
	tensors, err := r.Read(rec)
	if err != nil {
		return nil
	}
	for _, c := range columns {
		t := tensors[c]
		i := slices.IndexFunc(floats(t.Tensor), func(v float64) bool { return math.IsNaN(v - v) })
		if i < 0 {
			continue
		}
		row, from := rowWith(t, i, int(rec.NumRows()))
		return &inputs.RowError{Column: t.Name, Row: int64(row), InBatch: true, Element: i - from, Value: fmt.Sprint(t.Tensor.Float(i)), Err: errNotFinite}
	}
	return nil
}

// floats returns the elements of a floating-point tensor, nil for other types.
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

// rowWith returns the row of a column that has element i, and the row's first element.
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
