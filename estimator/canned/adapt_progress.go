package canned

import (
	"context"
	"log/slog"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// counted is a data set that periodically logs the number of rows read.
type counted struct {
	inputs.Dataset
	log *slog.Logger
}

func (c counted) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := c.Dataset.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	return &countedIterator{Iterator: it, log: c.log, wait: waiting.Begin(time.Now())}, nil
}

type countedIterator struct {
	inputs.Iterator
	log  *slog.Logger
	wait waiting.Wait
	rows int64
}

func (c *countedIterator) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := c.Iterator.Next(ctx)
	if err != nil {
		return nil, err
	}
	c.rows += rec.NumRows()
	if took, due := c.wait.Due(time.Now()); due {
		c.log.Info("still adapting feature columns to the training data", "rows", c.rows, "secs", int(took.Seconds()))
	}
	return rec, nil
}
