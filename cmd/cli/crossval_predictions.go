package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// heldOut holds the models of the folds and iterators over their predictions, row by row.
type heldOut struct {
	jobs []*job
	next []func() ([]namedValue, error, bool)
	stop []func()
}

// errOtherRows is the error of a model with more or fewer predictions than its fold has rows.
var errOtherRows = errors.New("a step of train.input makes other rows than those of the data")

// openHeldOut loads the newest checkpoints of all folds.
func (c *crossval) openHeldOut(ctx context.Context) (*heldOut, error) {
	h := &heldOut{}
	for k := range c.by.Folds {
		cfg := c.fold(k)
		j, prefix, err := c.app.trainedJob(ctx, &cfg, "")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("fold %d: %w", k, err), h.close())
		}
		h.jobs = append(h.jobs, j)
		in, err := c.app.predictInput(&cfg, "")
		if err != nil {
			return nil, errors.Join(err, h.close())
		}
		columns, err := passColumns(&in, cfg.Predict.Columns)
		if err != nil {
			return nil, errors.Join(usage(err), h.close())
		}
		input, err := j.input(in, "train")
		if err != nil {
			return nil, errors.Join(err, h.close())
		}
		next, stop := iter.Pull2(predictedRows{columns, cfg.Predict.Keys, cfg.Predict.TopK}.of(ctx, j.est, input, prefix))
		h.next, h.stop = append(h.next, next), append(h.stop, stop)
	}
	return h, nil
}

func (h *heldOut) close() (err error) {
	for _, stop := range h.stop {
		stop()
	}
	for _, j := range h.jobs {
		err = errors.Join(err, j.est.Close())
	}
	return err
}

// writePredictions writes the file of all predictions for held out rows.
func (c *crossval) writePredictions(ctx context.Context) (n int64, err error) {
	h, err := c.openHeldOut(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	n, err = c.app.writePlace(ctx, c.flags.predictions, func(w predictionWriter) (int64, error) { return writePredictions(w, c.rows(ctx, h)) })
	if err != nil {
		return n, fmt.Errorf("--predictions: %w", err)
	}
	return n, nil
}

// rows are the rows of the file, in the order of the data.
func (c *crossval) rows(ctx context.Context, h *heldOut) iter.Seq2[[]namedValue, error] {
	return func(yield func([]namedValue, error) bool) {
		err := c.eachRow(ctx, h, func(row []namedValue) error {
			if !yield(row, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

var errStopped = errors.New("no more rows are wanted")

func (c *crossval) eachRow(ctx context.Context, h *heldOut, f func([]namedValue) error) error {
	ds, err := c.data(ctx)
	if err != nil {
		return err
	}
	labels := c.labels(ds.Schema())
	number := int64(0)
	err = each(ctx, ds, func(rec arrow.Record) error {
		if err := labels.leave(rec, ds.Schema()); err != nil {
			return err
		}
		for range rec.NumRows() {
			row, err := h.row(number, labels)
			if number++; err == nil && row != nil {
				err = f(row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, next := range h.next {
		if _, _, more := next(); more {
			return errOtherRows
		}
	}
	return nil
}

// labels keeps the labels of rows, with the fold number as the last column.
func (c *crossval) labels(s *inputs.Schema) *passedColumns {
	p := &passedColumns{words: map[string][]string{}}
	for _, col := range s.ByRole(inputs.Label) {
		p.names = append(p.names, col.Name)
	}
	if label, ok := labelColumn(c.cfg); ok {
		p.words[label.Name] = label.Vocabulary
	}
	p.names = append(p.names, foldColumn)
	return p
}

// row is the next row: nil if no fold holds it out.
func (h *heldOut) row(number int64, labels *passedColumns) ([]namedValue, error) {
	known, err := labels.take()
	if err != nil {
		return nil, err
	}
	last := len(known) - 1
	fold := known[last].value
	k := fold.Int(0)
	if k < 0 {
		return nil, nil
	}
	predicted, err, ok := h.next[k]()
	if err != nil {
		return nil, fmt.Errorf("fold %d: %w", k, err)
	}
	if !ok {
		return nil, fmt.Errorf("fold %d: %w", k, errOtherRows)
	}
	at := tensor.New(tensor.Int64)
	tensor.Values[int64](at)[0] = number
	row := []namedValue{{"row", at}, {"fold", fold}}
	for _, label := range known[:last] {
		if last == 1 {
			label.name = "label"
		}
		row = append(row, label)
	}
	row = append(row, predicted...)
	return row, uniqueNames(row)
}
