package assess

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// Predictor predicts the rows of an input in order. If steps is positive, it stops after that many batches.
type Predictor func(ctx context.Context, input estimator.InputFn, steps int64) iter.Seq2[estimator.Prediction, error]

// Options say what Run reads and computes.
type Options struct {
	Rows    int64               // rows to read; 0: all
	Steps   int64               // batches to read; 0: all
	Worst   int                 // number of worst predictions to keep, with their inputs
	Classes []string            // names, if the model does not predict them
	Weights string              // feature that weighs the rows, besides a column with the role weight
	Words   map[string][]string // vocabularies of columns whose numbers index them
	Pixels  Pixels              // how images are shown
	// ImportanceRows are the rows for importance by permutation, Repeats the permutations of each input; 0: none.
	ImportanceRows, Repeats int
}

// Result describes how a model performs on data.
type Result struct {
	Rows    int64            `json:"rows"`
	More    bool             `json:"more_rows"` // the data has more rows than were read
	LeftOut map[string]int64 `json:"left_out,omitempty"`
	Heads   []Head           `json:"heads"`
	// Importance is nil if it was not requested or there is nothing to compare.
	Importance *Importance `json:"importance,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
}

// Head describes how one head of a model performs.
type Head struct {
	Name       string     `json:"name,omitempty"`
	Label      string     `json:"label"`
	Kind       Kind       `json:"kind"`
	Loss       string     `json:"loss"` // the loss that ranks the worst predictions
	Classes    *Classes   `json:"classification,omitempty"`
	Regression *Residuals `json:"regression,omitempty"`
	Worst      []Example  `json:"worst"`
}

// assessor joins predictions with their rows.
type assessor struct {
	Options
	feed   *feed
	heads  []*head
	result Result
	sample *sample
}

// Run predicts the rows of an input and compares them with their labels. Rows that cannot be compared, such as rows whose label
// is no class, are counted and left out. An input without rows gives a Result without rows.
func Run(ctx context.Context, predict Predictor, input estimator.InputFn, o Options) (*Result, error) {
	a := &assessor{Options: o, feed: &feed{from: input, limit: o.Rows}}
	a.result.LeftOut = map[string]int64{}
	a.result.Heads = []Head{}
	defer a.feed.release()
	if o.Repeats > 0 && o.ImportanceRows > 0 {
		a.sample = newSample(o.ImportanceRows)
		defer a.sample.release()
	}
	for p, err := range predict(ctx, a.feed, o.Steps) {
		if errors.Is(err, inputs.ErrEmpty) {
			break
		}
		if err == nil {
			err = a.row(p)
		}
		if err != nil {
			return nil, err
		}
	}
	a.result.More = a.feed.cut
	for _, h := range a.heads {
		a.result.Heads = append(a.result.Heads, h.result())
	}
	if a.result.Rows == 0 {
		a.result.Notes = append(a.result.Notes, "the data has no rows")
	}
	if len(a.heads) > 0 && a.sample != nil {
		if err := a.importance(ctx, predict); err != nil {
			return nil, fmt.Errorf("importance: %w", err)
		}
	}
	return &a.result, nil
}

// row reads the next row and compares it with its prediction.
func (a *assessor) row(p estimator.Prediction) error {
	row, err := a.feed.take()
	if err != nil {
		return err
	}
	n := a.result.Rows
	if a.result.Rows++; n == 0 {
		a.heads, a.result.Notes = findHeads(p, a.feed.schema, a.Classes)
		for _, h := range a.heads {
			h.begin(a.Worst)
		}
	}
	weight, ok := a.weight(row)
	if !ok {
		a.result.LeftOut["a weight is negative or not finite"]++
		return nil
	}
	for _, h := range a.heads {
		label, _ := row.column(a.feed.schema, h.label)
		v := h.judge(p, label.Row(row.i), weight, true)
		switch {
		case v.bad != "":
			a.result.LeftOut[v.bad]++
		case v.cases > 0 && weight > 0 && h.worst.wants(v.loss):
			h.worst.add(h.example(row, n, p, label.Row(row.i), v.loss, a.Options))
		}
	}
	if a.sample != nil {
		a.sample.add(row)
	}
	return nil
}

// weight is the weight of a row, 1 if rows have none; ok is false if it is negative or not finite.
func (a *assessor) weight(row fedRow) (float64, bool) {
	for _, c := range row.columns {
		if (c.Role == inputs.Weight || c.Name == a.Weights) && c.Offsets == nil && c.Tensor.DType != tensor.String {
			if t := c.Row(row.i); t.Len() == 1 {
				w := t.Float(0)
				return w, finite(w) && w >= 0
			}
		}
	}
	return 1, true
}

func (h *head) result() Head {
	out := Head{Name: h.name, Label: h.label, Kind: h.kind, Loss: "cross-entropy", Worst: h.worst.sorted()}
	if h.kind == KindRegression {
		out.Loss, out.Regression = "squared error", h.numbers.result()
	} else {
		out.Classes = h.counts.result(h.names)
	}
	return out
}
