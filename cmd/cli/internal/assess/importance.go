package assess

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
)

// Importance says how much worse a model gets if one input takes the values of other rows (permutation importance, Breiman 2001).
type Importance struct {
	Rows    int     `json:"rows"` // drawn at random from the data
	Repeats int     `json:"repeats"`
	Score   string  `json:"score"`              // accuracy or r2
	ScoreOf string  `json:"score_of,omitempty"` // the label that Score is for, if there are several
	Loss    Number  `json:"loss"`               // of the rows without permutation
	Base    Number  `json:"score_value"`
	Inputs  []Input `json:"inputs"` // in the order of the data
}

// Input is the importance of one input: means and standard deviations over the repeats.
type Input struct {
	Name      string `json:"name"`
	LossRise  Number `json:"loss_rise"`
	LossDev   Number `json:"loss_rise_deviation"`
	ScoreDrop Number `json:"score_drop"`
	ScoreDev  Number `json:"score_drop_deviation"`
}

// Limits on the predictions for importance, and on the memory of its rows.
const (
	mostPredicted   = 2 << 20
	mostSampleBytes = 64 << 20
)

// sample is a random sample of rows from a stream, each equally likely (algorithm R).
type sample struct {
	most    int
	n       int64
	columns [][]arrow.Array // by row; copied, so that batches can be released
	random  *rand.Rand
	err     error
}

func newSample(most int) *sample {
	return &sample{most: most, random: rand.New(rand.NewPCG(2, 0))}
}

func (s *sample) add(row fedRow) {
	if s.n == 0 {
		size := 1
		for _, c := range row.columns {
			size += c.Row(row.i).MemoryBytes()
		}
		s.most = min(s.most, max(mostSampleBytes/size, 1))
	}
	s.n++
	at := int64(len(s.columns))
	if at == int64(s.most) {
		if at = s.random.Int64N(s.n); at >= int64(s.most) {
			return
		}
	} else {
		s.columns = append(s.columns, nil)
	}
	freeArrays(s.columns[at])
	s.columns[at] = make([]arrow.Array, 0, len(row.columns))
	for _, c := range row.record.Columns() {
		one := array.NewSlice(c, int64(row.i), int64(row.i)+1)
		own, err := array.Concatenate([]arrow.Array{one}, memory.DefaultAllocator)
		one.Release()
		if err != nil {
			s.err = err
			return
		}
		s.columns[at] = append(s.columns[at], own)
	}
}

func (s *sample) release() {
	for _, row := range s.columns {
		freeArrays(row)
	}
	s.columns = nil
}

func freeArrays(list []arrow.Array) {
	for _, a := range list {
		a.Release()
	}
}

// trial is the sample with one column permuted; column -1: none.
type trial struct{ column, repeat int }

// order is the permutation of a trial's column.
func (t trial) order(n int) []int {
	return rand.New(rand.NewPCG(uint64(t.column)+1, uint64(t.repeat))).Perm(n)
}

// trials is an input_fn that repeats the sample for each trial in one pass, so that the model is loaded once.
type trials struct {
	sample *sample
	schema *inputs.Schema
	list   []trial
}

// Input is the input_fn.
func (t *trials) Input(context.Context, inputs.Context) (inputs.Dataset, error) {
	return trialData{t}, nil
}

type trialData struct{ *trials }

// Schema is the schema of the data.
func (d trialData) Schema() *inputs.Schema { return d.schema }

// Iterate starts a pass.
func (d trialData) Iterate(context.Context) (inputs.Iterator, error) {
	return &trialIterator{trials: d.trials}, nil
}

// importance measures each input. An input that is a vector is permuted as a whole.
func (a *assessor) importance(ctx context.Context, predict Predictor) error {
	if a.sample.err != nil {
		return a.sample.err
	}
	var columns []int
	for i, c := range a.feed.schema.Columns() {
		if c.Role == inputs.Feature && c.Name != a.Weights {
			columns = append(columns, i)
		}
	}
	rows := len(a.sample.columns)
	if len(columns) < 2 || rows < 2 {
		a.result.Notes = append(a.result.Notes, fmt.Sprintf("The importance of inputs compares two or more of them on two rows or more: here are %d and %d.", len(columns), rows))
		return nil
	}
	if most := max(mostPredicted/(1+len(columns)*a.Repeats), 2); rows > most {
		for _, row := range a.sample.columns[most:] {
			freeArrays(row)
		}
		a.sample.columns, rows = a.sample.columns[:most], most
	}
	list := []trial{{-1, 0}}
	for _, c := range columns {
		for r := range a.Repeats {
			list = append(list, trial{c, r})
		}
	}
	measured, err := a.measure(ctx, predict, list)
	if err != nil {
		return err
	}
	out := &Importance{Rows: rows, Repeats: a.Repeats, Score: "accuracy", Loss: Number(measured[0].loss), Base: Number(measured[0].score)}
	if a.heads[0].kind == KindRegression {
		out.Score = "r2"
	}
	if len(a.heads) > 1 {
		out.ScoreOf = a.heads[0].label
	}
	for i, c := range columns {
		rise, riseDev := spread(measured[0], measured[1+i*a.Repeats:1+(i+1)*a.Repeats], func(base, m measure) float64 { return m.loss - base.loss })
		drop, dropDev := spread(measured[0], measured[1+i*a.Repeats:1+(i+1)*a.Repeats], func(base, m measure) float64 { return base.score - m.score })
		out.Inputs = append(out.Inputs, Input{a.feed.schema.Columns()[c].Name, rise, riseDev, drop, dropDev})
	}
	a.result.Importance = out
	return nil
}

// spread is the mean and the standard deviation of a difference over the trials.
func spread(base measure, list []measure, of func(base, m measure) float64) (mean, deviation Number) {
	sum, squares := 0.0, 0.0
	for _, m := range list {
		sum += of(base, m)
	}
	avg := sum / float64(len(list))
	for _, m := range list {
		squares += square(of(base, m) - avg)
	}
	return Number(avg), Number(math.Sqrt(squares / float64(len(list))))
}

// measure is the loss of all heads together, and the score of the first.
type measure struct{ loss, score float64 }

// measure predicts the trials.
func (a *assessor) measure(ctx context.Context, predict Predictor, list []trial) ([]measure, error) {
	feed := &feed{from: &trials{a.sample, a.feed.schema, list}}
	defer feed.release()
	rows := len(a.sample.columns)
	out := make([]measure, 0, len(list))
	var sums []*trialSum
	n := 0
	for p, err := range predict(ctx, feed, 0) {
		if err != nil {
			return nil, err
		}
		row, err := feed.take()
		if err != nil {
			return nil, err
		}
		if n%rows == 0 {
			sums = nil
			for _, h := range a.heads {
				sums = append(sums, &trialSum{regression: h.kind == KindRegression})
			}
		}
		weight, ok := a.weight(row)
		for i, h := range a.heads {
			if ok {
				sums[i].add(h, p, row, feed.schema, weight)
			}
		}
		if n++; n%rows == 0 {
			m := measure{score: sums[0].score()}
			for _, s := range sums {
				m.loss += per(s.loss, s.weight)
			}
			out = append(out, m)
		}
	}
	if len(out) != len(list) {
		return nil, fmt.Errorf("got %d predictions, expected %d", n, len(list)*rows)
	}
	return out, nil
}

// trialSum sums up the results of a head in a trial.
type trialSum struct {
	regression           bool
	weight, loss, right  float64
	squares, n, mean, sd float64 // for regression; sd is the sum of the labels' squared distances from their mean
}

func (s *trialSum) add(h *head, p estimator.Prediction, row fedRow, schema *inputs.Schema, weight float64) {
	c, _ := row.column(schema, h.label)
	label := c.Row(row.i)
	v := h.judge(p, label, weight, false)
	if v.bad != "" || v.cases == 0 || weight == 0 {
		return
	}
	s.weight += weight
	s.loss += weight * v.loss
	s.right += weight * v.right
	s.squares += weight * v.squares
	for i := 0; s.regression && i < v.cases; i++ {
		y := label.Float(i)
		s.n += weight
		from := y - s.mean
		s.mean += from * weight / s.n
		s.sd += weight * from * (y - s.mean)
	}
}

func (s *trialSum) score() float64 {
	if s.regression {
		return 1 - per(s.squares, s.sd)
	}
	return per(s.right, s.weight)
}
