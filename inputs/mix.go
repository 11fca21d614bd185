package inputs

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// Mixture says how Mix draws rows from several data sets.
type Mixture struct {
	Weights []float64 // of the data sets, in any unit; empty: equal weights
	Seed    int64
	// StopOnEmpty ends the rows when the chosen data set has none left. Otherwise the others continue, by their weights,
	// until all have ended.
	StopOnEmpty bool
}

// Mix draws each row from a data set chosen at random by weight, as tf.data's sample_from_datasets. The choice depends
// only on the seed, the epoch and the position. The rows of each data set keep their order. All must have the same columns.
func Mix(m Mixture, inputs ...Dataset) Dataset {
	weights := m.Weights
	if len(weights) == 0 {
		weights = make([]float64, len(inputs))
		for i := range weights {
			weights[i] = 1
		}
	}
	d := alike(fmt.Sprintf("mix%v[%d,%t]", weights, m.Seed, m.StopOnEmpty), inputs)
	if d.err == nil {
		d.err = checkWeights(weights, len(inputs))
	}
	d.batch = 0
	d.start = func(ctx context.Context, epoch int64) (stage, error) {
		taps, err := openAll(ctx, d.several, epoch)
		if err != nil {
			return nil, err
		}
		rng := splitmix.Source(splitmix.Mix(uint64(m.Seed), uint64(epoch), 0x3d))
		return &mixStage{node: d, taps: taps, weights: weights, stopOnEmpty: m.StopOnEmpty, rng: rng}, nil
	}
	return d
}

func checkWeights(weights []float64, inputs int) error {
	if len(weights) != inputs {
		return fmt.Errorf("mix has %d weights for %d data sets: give one for each", len(weights), inputs)
	}
	for i, w := range weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return fmt.Errorf("weight %d of mix is %v, expected a number > 0: leave out data sets that are not drawn", i+1, w)
		}
	}
	return nil
}

type mixStage struct {
	node        *node
	taps        []*tap
	weights     []float64
	stopOnEmpty bool
	rng         splitmix.Source
	ended       bool // by stopOnEmpty
	failed      failure
}

func (s *mixStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if s.failed.err != nil {
		return nil, s.failed.err
	}
	if limit <= 0 {
		limit = chunkRows
	}
	var p picks
	defer p.discard()
	for p.n < limit {
		t, err := s.draw(ctx)
		if err != nil && s.failed.after(ctx, err, p.n > 0) {
			break
		}
		if err != nil {
			return nil, err
		}
		t.take(&p, 1)
	}
	return p.record(memoryOf(ctx, s.node.mem), s.node.schema.Arrow())
}

// draw chooses the data set of the next row; it has at least one row left.
func (s *mixStage) draw(ctx context.Context) (*tap, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rng := s.rng
		i := s.choose(&rng)
		if i < 0 || s.ended {
			return nil, io.EOF
		}
		have, err := s.taps[i].fill(ctx, chunkRows)
		if err != nil {
			return nil, err // the next call draws the same
		}
		s.rng = rng
		if have > 0 {
			return s.taps[i], nil
		}
		s.ended = s.stopOnEmpty
	}
}

// choose draws one of the data sets that have not ended, -1 if all have.
func (s *mixStage) choose(rng *splitmix.Source) int {
	total, last := 0.0, -1
	for i, t := range s.taps {
		if !s.over(t) {
			total, last = total+s.weights[i], i
		}
	}
	if last < 0 {
		return -1
	}
	x := float64(rng.Next()>>11) / (1 << 53) * total
	for i, t := range s.taps {
		if s.over(t) {
			continue
		}
		if x < s.weights[i] {
			return i
		}
		x -= s.weights[i]
	}
	return last // rounding
}

// over reports whether a data set is known to have ended. With stopOnEmpty it may still be drawn, which ends the rows.
func (s *mixStage) over(t *tap) bool {
	return t.done && !s.stopOnEmpty && (t.rec == nil || t.at == t.rec.NumRows())
}

func (s *mixStage) save(w *stateWriter) error {
	w.int(int64(s.rng))
	ended := int64(0)
	if s.ended {
		ended = 1
	}
	w.int(ended)
	return saveTaps(w, s.taps)
}

func (s *mixStage) load(ctx context.Context, r *stateReader) error {
	s.rng = splitmix.Source(r.int())
	s.ended = r.count(1) == 1
	s.failed.err = nil
	return loadTaps(ctx, r, s.taps)
}

func (s *mixStage) close() error { return closeTaps(s.taps) }
