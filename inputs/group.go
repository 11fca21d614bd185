package inputs

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/tensor"
)

// A Grouping says which rows GroupBy puts into one record.
type Grouping struct {
	// Name distinguishes this grouping from others; it becomes part of the pipeline's description.
	Name string
	// Key sets the key of each row of a record.
	Key func(ctx context.Context, rec arrow.Record, keys []int64) error
	// Size returns the number of rows in a record of a key, > 0.
	Size func(key int64) int
	// DropRemainder leaves out groups that are incomplete at the end of the rows. Otherwise they come last, sorted by key.
	DropRemainder bool
}

// GroupBy makes records whose rows have the same key, as tf.data's group_by_window; a record comes once its group is complete. GroupBy
// takes the place of Batch. Incomplete groups stay in memory.
func GroupBy(g Grouping) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if g.Key == nil || g.Size == nil {
			return up.refuse("grouping %q lacks Key or Size: set both", g.Name)
		}
		d := up.derive(fmt.Sprintf("group_by(%s,%t)", g.Name, g.DropRemainder), nil)
		d.mixes = true
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(withoutBatchMemory(ctx), epoch)
			if err != nil {
				return nil, err
			}
			return &groupStage{up: st, node: d, g: g, groups: map[int64]*group{}}, nil
		}
		return d
	}
}

// Buckets are ranges of lengths, with a batch size for each.
type Buckets struct {
	Column        string // a ragged column, bucketed by its length
	Boundaries    []int  // ascending: the lengths at which the second and further buckets begin
	BatchSizes    []int  // one more than Boundaries
	DropRemainder bool
}

// BucketByLength makes batches of rows of similar length, as tf.data's bucket_by_sequence_length.
func BucketByLength(b Buckets) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if err := b.validate(up.schema); err != nil {
			return up.refuse("bucket_by_length: %w", err)
		}
		g := Grouping{Name: fmt.Sprintf("length %q %v %v", b.Column, b.Boundaries, b.BatchSizes), DropRemainder: b.DropRemainder,
			Size: func(key int64) int { return b.BatchSizes[key] }}
		g.Key = func(_ context.Context, rec arrow.Record, keys []int64) error {
			list, ok := rec.Column(up.schema.Index(b.Column)).(*array.List)
			if !ok {
				return fmt.Errorf("column %q is not a ragged column", b.Column)
			}
			for i := range keys {
				from, to := list.ValueOffsets(i)
				k, at := slices.BinarySearch(b.Boundaries, int(to-from))
				if at {
					k++
				}
				keys[i] = int64(k)
			}
			return nil
		}
		d := adopt(GroupBy(g)(ds))
		d.batch = slices.Max(b.BatchSizes)
		return d
	}
}

func (b Buckets) validate(s *Schema) error {
	c, err := s.Column(b.Column)
	if err != nil {
		return err
	}
	if !c.Ragged {
		return fmt.Errorf("column %s is not ragged: name one that is", c)
	}
	if len(b.BatchSizes) != len(b.Boundaries)+1 {
		return fmt.Errorf("%d boundaries make %d buckets, got %d batch sizes: give one for each bucket", len(b.Boundaries), len(b.Boundaries)+1, len(b.BatchSizes))
	}
	for i, x := range b.Boundaries {
		if x <= 0 || i > 0 && x <= b.Boundaries[i-1] {
			return fmt.Errorf("boundaries must be > 0 and ascend, got %v", b.Boundaries)
		}
	}
	for _, n := range b.BatchSizes {
		if n <= 0 || n > maxBatch {
			return fmt.Errorf("batch sizes must lie in 1 to %d, got %v", maxBatch, b.BatchSizes)
		}
	}
	return nil
}

// GroupByColumn makes batches of up to size rows with the same value of a column, which has one text or integer in each row.
func GroupByColumn(column string, size int, dropRemainder bool) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		c, err := up.schema.Column(column)
		switch {
		case err != nil:
			return up.refuse("group: %w", err)
		case c.Ragged || c.Size() != 1 || c.DType.Float():
			return up.refuse("group: column %s: expected one text or whole number in each row", c)
		case size <= 0 || size > maxBatch:
			return up.refuse("group: size must lie in 1 to %d, got %d", maxBatch, size)
		}
		at := up.schema.Index(column)
		g := Grouping{Name: fmt.Sprintf("%q %d", column, size), DropRemainder: dropRemainder, Size: func(int64) int { return size }}
		g.Key = func(_ context.Context, rec arrow.Record, keys []int64) error {
			ts, err := Tensors(rec, up.schema)
			if err != nil {
				return err
			}
			for i := range keys {
				if c.DType != tensor.String {
					keys[i] = ts[at].Tensor.Int(i)
					continue
				}
				h := fnv.New64a()
				_, _ = h.Write(ts[at].Tensor.Strings[i]) // has no errors
				keys[i] = int64(h.Sum64())
			}
			return nil
		}
		d := adopt(GroupBy(g)(ds))
		d.batch = size
		return d
	}
}

// group holds rows with the same key.
type group struct {
	parts []arrow.Record
	n     int
}

type groupStage struct {
	up     stage
	node   *node
	g      Grouping
	groups map[int64]*group
	ready  []arrow.Record // complete groups
	ended  bool           // upstream has ended
	cutter
}

func (s *groupStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	return s.cutter.pull(ctx, limit, s.next)
}

// next returns the next complete group.
func (s *groupStage) next(ctx context.Context) (arrow.Record, error) {
	for len(s.ready) == 0 {
		if s.ended {
			return nil, io.EOF
		}
		if err := s.fetch(ctx); err != nil {
			return nil, err
		}
	}
	rec := s.ready[0]
	s.ready = slices.Delete(s.ready, 0, 1)
	return rec, nil
}

// fetch divides the next rows among the groups.
func (s *groupStage) fetch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	rec, err := s.up.pull(withoutBatchMemory(ctx), chunkRows)
	if eof(err) {
		s.ended = true
		return s.flush()
	}
	if err != nil {
		return err
	}
	defer rec.Release()
	return s.divide(ctx, rec)
}

func (s *groupStage) divide(ctx context.Context, rec arrow.Record) (err error) {
	keys := make([]int64, rec.NumRows())
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("grouping %q panicked: %v", s.g.Name, p)
		}
	}()
	if err := s.g.Key(ctx, rec, keys); err != nil {
		return fmt.Errorf("grouping %q: %w", s.g.Name, err)
	}
	open := map[int64][]span{} // rows of rec that are not yet in a part
	for i, key := range keys {
		size := s.g.Size(key)
		if size <= 0 {
			return fmt.Errorf("grouping %q: the size of group %d is %d, expected > 0", s.g.Name, key, size)
		}
		open[key] = appendSpan(open[key], span{0, i, 1})
		g := s.group(key)
		if g.n++; g.n < size {
			continue
		}
		if err := s.addPart(g, rec, open[key]); err != nil {
			return err
		}
		delete(open, key)
		if err := s.complete(key); err != nil {
			return err
		}
	}
	for key, spans := range open {
		if err := s.addPart(s.groups[key], rec, spans); err != nil {
			return err
		}
	}
	return nil
}

func (s *groupStage) group(key int64) *group {
	g := s.groups[key]
	if g == nil {
		g = &group{}
		s.groups[key] = g
	}
	return g
}

// addPart copies rows of rec into a group.
func (s *groupStage) addPart(g *group, rec arrow.Record, spans []span) error {
	part, err := gatherRecord(s.node.mem, s.node.schema.Arrow(), []arrow.Record{rec}, spans)
	if err == nil {
		g.parts = append(g.parts, part)
	}
	return err
}

// complete moves a group to ready.
func (s *groupStage) complete(key int64) error {
	rec, err := s.joined(s.groups[key])
	if err == nil {
		s.ready = append(s.ready, rec)
		delete(s.groups, key)
	}
	return err
}

// joined concatenates the parts of a group, and returns the result.
func (s *groupStage) joined(g *group) (arrow.Record, error) {
	rec, err := concat(s.node.mem, s.node.schema.Arrow(), g.parts)
	if g.parts = nil; err == nil {
		g.parts = []arrow.Record{rec}
	}
	return rec, err
}

// flush completes or drops the groups that are left at the end of the rows.
func (s *groupStage) flush() error {
	for _, key := range s.keys() {
		if s.g.DropRemainder {
			releaseAll(s.groups[key].parts)
			delete(s.groups, key)
		} else if err := s.complete(key); err != nil {
			return err
		}
	}
	return nil
}

func (s *groupStage) keys() []int64 {
	keys := make([]int64, 0, len(s.groups))
	for key := range s.groups {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (s *groupStage) save(w *stateWriter) error {
	ended := int64(0)
	if s.ended {
		ended = 1
	}
	w.int(ended)
	if err := w.record(s.rest); err != nil {
		return err
	}
	w.int(int64(len(s.ready)))
	for _, rec := range s.ready {
		if err := w.record(rec); err != nil {
			return err
		}
	}
	w.int(int64(len(s.groups)))
	for _, key := range s.keys() {
		rec, err := s.joined(s.groups[key])
		if err != nil {
			return err
		}
		w.int(key)
		if err := w.record(rec); err != nil {
			return err
		}
	}
	return s.up.save(w)
}

func (s *groupStage) load(ctx context.Context, r *stateReader) error {
	s.release()
	s.ended = r.count(1) == 1
	var err error
	if s.rest, err = r.record(s.node.schema); err != nil {
		return err
	}
	if s.ready, err = r.records(s.node.schema); err != nil {
		return err
	}
	for range r.count(int64(len(r.buf))) {
		key := r.int()
		rec, err := r.record(s.node.schema)
		if err == nil && (rec == nil || s.groups[key] != nil) {
			err = fmt.Errorf("%w: a group is empty or occurs twice", ErrBadState)
		}
		if err != nil {
			if rec != nil {
				rec.Release()
			}
			return err
		}
		s.groups[key] = &group{parts: []arrow.Record{rec}, n: int(rec.NumRows())}
	}
	return s.up.load(ctx, r)
}

func (s *groupStage) release() {
	s.discard()
	releaseAll(s.ready)
	for _, g := range s.groups {
		releaseAll(g.parts)
	}
	s.ready, s.groups = nil, map[int64]*group{}
}

func (s *groupStage) close() error {
	s.release()
	return s.up.close()
}
