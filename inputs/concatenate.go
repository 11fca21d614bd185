package inputs

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// Concatenate returns the rows of the first data set, then the rows of the second, and so on, as tf.data's concatenate. All must have the
// same columns. The result has random access if all inputs have it.
func Concatenate(inputs ...Dataset) Dataset {
	d := alike("concatenate", inputs)
	if d.err != nil {
		return d
	}
	if ix := concatIndexed(d, inputs); ix != nil {
		return ix
	}
	d.start = func(ctx context.Context, epoch int64) (stage, error) {
		s := &concatStage{ctx: ctx, inputs: d.several, epoch: epoch}
		return s, s.open(ctx)
	}
	return d
}

// concatIndexed returns the rows of data sets with random access, nil if one has no random access or no end.
func concatIndexed(d *node, inputs []Dataset) Dataset {
	all := make([]Indexed, len(inputs))
	ends := make([]int64, len(inputs)) // rows up to and including each input
	total := int64(0)
	for i, ds := range inputs {
		ix, ok := ds.(Indexed)
		if !ok || ix.Len() > math.MaxInt64-1-total {
			return nil
		}
		total += ix.Len()
		all[i], ends[i] = ix, total
	}
	return newIndexed(d, total, func(ctx context.Context, rows []int64) (arrow.Record, error) {
		wanted := make([][]int64, len(all)) // rows of each input
		spans := make([]span, 0, len(rows))
		for _, row := range rows {
			k, at := locateRow(ends, row)
			spans = appendSpan(spans, span{k, len(wanted[k]), 1})
			wanted[k] = append(wanted[k], at)
		}
		if len(spans) == 1 {
			return all[spans[0].chunk].Gather(ctx, wanted[spans[0].chunk])
		}
		var recs []arrow.Record
		defer func() { releaseAll(recs) }()
		chunk := make([]int, len(all))
		for k, w := range wanted {
			if len(w) == 0 {
				continue
			}
			rec, err := all[k].Gather(withoutBatchMemory(ctx), w)
			if err != nil {
				return nil, fmt.Errorf("input %d of concatenate: %w", k+1, err)
			}
			chunk[k], recs = len(recs), append(recs, rec)
		}
		for i := range spans {
			spans[i].chunk = chunk[spans[i].chunk]
		}
		return gatherRecord(memoryOf(ctx, d.mem), d.schema.Arrow(), recs, spans)
	})
}

type concatStage struct {
	ctx    context.Context // of the pass: later inputs outlive the call that opens them
	inputs []*node
	epoch  int64
	at     int   // row of the current input
	up     stage // its pass; nil after the last
}

// open opens the pass over the current input.
func (s *concatStage) open(ctx context.Context) (err error) {
	s.up, err = openLater(ctx, s.ctx, s.inputs[s.at], s.epoch)
	return err
}

func (s *concatStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	for {
		if s.at == len(s.inputs) {
			return nil, io.EOF
		}
		if s.up == nil {
			if err := s.open(ctx); err != nil {
				return nil, err
			}
		}
		rec, err := s.up.pull(ctx, limit)
		if !eof(err) {
			return rec, err
		}
		err = s.close()
		s.at++
		if err != nil {
			return nil, err
		}
	}
}

func (s *concatStage) save(w *stateWriter) error {
	w.int(int64(s.at))
	if s.up == nil {
		w.int(0)
		return nil
	}
	w.int(1)
	return s.up.save(w)
}

func (s *concatStage) load(ctx context.Context, r *stateReader) error {
	at, open := r.count(int64(len(s.inputs))), r.count(1)
	if r.err == nil && at == int64(len(s.inputs)) && open == 1 {
		r.fail()
	}
	if r.err != nil {
		return r.err
	}
	if err := s.close(); err != nil {
		return err
	}
	s.at = int(at)
	if open == 0 {
		return nil
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.up.load(ctx, r)
}

func (s *concatStage) close() error {
	if s.up == nil {
		return nil
	}
	up := s.up
	s.up = nil
	return up.close()
}
