package inputs

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
	"github.com/goestimator/goestimator/tensor"
)

// Classes has the class proportions that Resample delivers.
type Classes struct {
	Column  string    // column of class numbers, from 0: an integer or bool in each row
	Target  []float64 // the wanted share of each class, in any unit
	Initial []float64 // the share of each class in the data, in any unit; empty: estimated from the rows seen so far
	Seed    int64
}

// Resample drops rows at random so that the remaining classes have the wanted shares, as tf.data's rejection_resample.
// The choice depends only on the seed, the epoch and the earlier rows.
func Resample(c Classes) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if err := c.validate(up.schema); err != nil {
			return up.refuse("resample: %w", err)
		}
		d := up.derive(fmt.Sprintf("resample(%q,%v,%v,%d)", c.Column, c.Target, c.Initial, c.Seed), nil)
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(ctx, epoch)
			if err != nil {
				return nil, err
			}
			return &resampleStage{up: st, node: d, c: c, at: up.schema.Index(c.Column), counts: make([]int64, len(c.Target)),
				key: splitmix.Mix(uint64(c.Seed), uint64(epoch), 0x4e)}, nil
		}
		return d
	}
}

func (c Classes) validate(s *Schema) error {
	col, err := s.Column(c.Column)
	if err != nil {
		return err
	}
	switch col.DType {
	case tensor.Float32, tensor.Float64, tensor.Float16, tensor.String, tensor.Uint64:
		return fmt.Errorf("column %s has no class numbers: name a column of integers, or give its strings a vocabulary", col)
	}
	if col.Ragged || len(col.Shape) > 0 {
		return fmt.Errorf("column %s has several values in a row, expected one class", col)
	}
	if len(c.Initial) > 0 && len(c.Initial) != len(c.Target) {
		return fmt.Errorf("%d initial shares for %d classes: give one for each, or none", len(c.Initial), len(c.Target))
	}
	total := 0.0
	for i, x := range c.Target {
		if !(x >= 0) || math.IsInf(x, 1) {
			return fmt.Errorf("the share of class %d is %v, expected a number >= 0", i, x)
		}
		total += x
		if len(c.Initial) > 0 && (!(c.Initial[i] >= 0) || math.IsInf(c.Initial[i], 1) || c.Initial[i] == 0 && x > 0) {
			return fmt.Errorf("class %d is wanted, but its initial share is %v: expected a number > 0", i, c.Initial[i])
		}
	}
	if total == 0 {
		return fmt.Errorf("the shares of all %d classes are 0: give target shares", len(c.Target))
	}
	return nil
}

type resampleStage struct {
	up     stage
	node   *node
	c      Classes
	at     int // index of the column
	key    uint64
	counts []int64 // rows seen of each class
	row    int64   // rows seen
}

func (s *resampleStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rec, err := s.up.pull(ctx, limit)
		if err != nil {
			return nil, err
		}
		rec, err = s.choose(rec)
		if rec != nil || err != nil {
			return rec, err
		}
	}
}

// choose returns the rows of rec to keep, nil if there are none. It releases rec.
func (s *resampleStage) choose(rec arrow.Record) (arrow.Record, error) {
	var wrong error
	out, err := keepRows(s.node, rec, func(i int) bool {
		class, _ := int64At(rec.Column(s.at), i)
		if class < 0 || class >= int64(len(s.counts)) {
			if wrong == nil {
				wrong = &RowError{Column: s.c.Column, Row: s.row, Value: fmt.Sprint(class), Err: fmt.Errorf("resample: expected a class from 0 to %d: give a target share to each class", len(s.counts)-1)}
			}
			return false
		}
		s.counts[class]++
		s.row++
		x := float64(splitmix.Hash(s.key^splitmix.Hash(uint64(s.row)))>>11) / (1 << 53)
		return x < s.acceptance(class)
	})
	if wrong != nil {
		if out != nil {
			out.Release()
		}
		return nil, wrong
	}
	return out, err
}

// acceptance returns the probability of keeping a row of a class: the ratio of the wanted and the current share, divided by the largest such ratio.
func (s *resampleStage) acceptance(class int64) float64 {
	largest := 0.0
	for i := range s.counts {
		largest = max(largest, s.ratio(i))
	}
	return s.ratio(int(class)) / largest
}

func (s *resampleStage) ratio(class int) float64 {
	if s.c.Target[class] == 0 {
		return 0
	}
	if len(s.c.Initial) > 0 {
		return s.c.Target[class] / s.c.Initial[class]
	}
	return s.c.Target[class] / float64(s.counts[class]+1) // as if each class had been seen once already
}

func (s *resampleStage) save(w *stateWriter) error {
	w.int(s.row)
	for _, n := range s.counts {
		w.int(n)
	}
	return s.up.save(w)
}

func (s *resampleStage) load(ctx context.Context, r *stateReader) error {
	s.row = r.count(math.MaxInt64)
	for i := range s.counts {
		s.counts[i] = r.count(s.row)
	}
	if r.err != nil {
		return r.err
	}
	return s.up.load(ctx, r)
}

func (s *resampleStage) close() error { return s.up.close() }
