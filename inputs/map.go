package inputs

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// Mapper is applied to every record by Map and ParallelMap.
type Mapper struct {
	// Name distinguishes this mapper from others; it becomes part of the pipeline's
	// description, so include its settings.
	Name string
	// Schema returns the schema of the results; nil: the input's.
	Schema func(in *Schema) (*Schema, error)
	// Map returns the record that replaces in, with the same number of rows. It does not
	// release in. A call gets any part of the stream, so each row
	// must be mapped on its own. ParallelMap calls it concurrently.
	Map func(ctx context.Context, in arrow.Record, rows Rows) (arrow.Record, error)
	// Seed seeds Rows.Seed.
	Seed int64

	parts []string // names of the mappers that Compose joined
}

// Rows tells a Mapper which rows of the stream a record holds.
type Rows struct {
	First     int64            // position in the pass of row 0 of the record
	Allocator memory.Allocator // for the result; allocated memory may not be zeroed
	key       uint64
}

// Seed returns a seed that depends on the Mapper's seed, the epoch and the position
// of row i of the record, never on batching or scheduling.
func (r Rows) Seed(i int) uint64 {
	return splitmix.Hash(r.key ^ splitmix.Hash(uint64(r.First)+uint64(i)))
}

// Map applies m to every record, in the goroutine of Next.
func Map(m Mapper) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		d := m.node(up)
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(withoutBatchMemory(ctx), epoch)
			if err != nil {
				return nil, err
			}
			return &mapStage{up: st, in: up, m: m.bind(d, epoch)}, nil
		}
		return d
	}
}

// node returns the node of a mapped dataset, without its start.
func (m Mapper) node(up *node) *node {
	d := up.derive(fmt.Sprintf("map(%s,%d)", m.Name, m.Seed), nil)
	d.label = "map " + nameOf(m.Name)
	if len(m.parts) > 0 {
		d.label = "map " + strings.Join(m.parts, "+")
	}
	d.again = func(ctx context.Context, rec arrow.Record, seen *int64) (arrow.Record, error) {
		defer rec.Release()
		first := *seen
		*seen += rec.NumRows()
		return m.bind(d, 0).apply(ctx, rec, first)
	}
	if m.Map == nil {
		return up.refuse("mapper %q has no Map function: set Mapper.Map", m.Name)
	}
	if m.Schema == nil {
		return d
	}
	s, err := m.Schema(up.schema) // also after an invalid stage, whose error is the one to report
	if err != nil {
		return up.refuse("%w", err)
	}
	d.schema = s
	return d
}

// boundMapper is a Mapper within one pass.
type boundMapper struct {
	Mapper
	node *node
	key  uint64
	flat bool // a row may become any number of rows
}

func (m Mapper) bind(n *node, epoch int64) boundMapper {
	return boundMapper{Mapper: m, node: n, key: splitmix.Mix(uint64(m.Seed), uint64(epoch), 0x3a)}
}

// apply maps a record that begins at row first of the pass. It does not
// release in.
func (m boundMapper) apply(ctx context.Context, in arrow.Record, first int64) (out arrow.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("mapper %q panicked at row %d of the pass: %v", m.Name, first+1, p)
		}
	}()
	out, err = m.Map(ctx, in, Rows{First: first, Allocator: memoryOf(ctx, m.node.mem), key: m.key})
	if err != nil {
		return nil, err
	}
	if out.NumRows() != in.NumRows() && !m.flat {
		n := out.NumRows()
		out.Release()
		return nil, fmt.Errorf("mapper %q made %d rows of %d: use Filter to drop rows, FlatMap to make more", m.Name, n, in.NumRows())
	}
	return out, nil
}

type mapStage struct {
	up      stage
	in      *node
	m       boundMapper
	row     int64        // rows of upstream mapped so far
	limit   int          // limit of the current call
	pending arrow.Record // pulled, but not mapped after a failure; the next call tries again
	cutter
}

func (s *mapStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	s.limit = limit
	return s.cutter.pull(ctx, limit, s.mapped)
}

func (s *mapStage) mapped(ctx context.Context) (arrow.Record, error) {
	if s.pending == nil {
		in, err := s.up.pull(withoutBatchMemory(ctx), s.limit)
		if err != nil {
			return nil, err
		}
		s.pending = in
	}
	out, err := s.m.apply(ctx, s.pending, s.row)
	if err != nil {
		return nil, err
	}
	s.row += s.pending.NumRows()
	s.discardPending()
	return out, nil
}

func (s *mapStage) save(w *stateWriter) error {
	w.int(s.row)
	if err := w.record(s.pending); err != nil {
		return err
	}
	if err := w.record(s.rest); err != nil {
		return err
	}
	return s.up.save(w)
}

func (s *mapStage) load(ctx context.Context, r *stateReader) error {
	s.discard()
	s.discardPending()
	s.row = r.count(math.MaxInt64)
	var err error
	if s.pending, err = r.record(s.in.schema); err != nil {
		return err
	}
	if s.rest, err = r.record(s.m.node.schema); err != nil {
		return err
	}
	return s.up.load(ctx, r)
}

// discardPending releases the pending record.
func (s *mapStage) discardPending() {
	if s.pending != nil {
		s.pending.Release()
		s.pending = nil
	}
}

func (s *mapStage) close() error {
	s.discard()
	s.discardPending()
	return s.up.close()
}
