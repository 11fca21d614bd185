package inputs

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// Interleave keeps cycle data sets open and takes block rows from each in turn. When one ends, the next data set takes its place
// at its next turn. The order is the same as in tf.data's interleave. All must have the same columns.
func Interleave(cycle, block int, inputs ...Dataset) Dataset {
	d := alike(fmt.Sprintf("interleave[%d,%d]", cycle, block), inputs)
	if d.err == nil && (cycle <= 0 || block <= 0) {
		d.err = fmt.Errorf("interleave needs a cycle of at least 1 data set and blocks of at least 1 row, got %d and %d", cycle, block)
	}
	d.batch = 0
	d.start = func(ctx context.Context, epoch int64) (stage, error) {
		return &interleaveStage{ctx: withoutBatchMemory(ctx), node: d, epoch: epoch, block: int64(block), slots: make([]*slot, min(cycle, len(inputs)))}, nil
	}
	return d
}

// slot is one of the open data sets.
type slot struct {
	*tap
	input int
}

type interleaveStage struct {
	ctx    context.Context // of the pass: inputs outlive the call that opens them
	node   *node
	epoch  int64
	block  int64
	slots  []*slot // nil: not open
	turn   int     // index of the current slot
	taken  int64   // rows taken in this turn
	next   int     // input to open next
	open   int     // number of open slots
	failed failure
}

func (s *interleaveStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if s.failed.err != nil {
		return nil, s.failed.err
	}
	if limit <= 0 {
		limit = chunkRows
	}
	var p picks
	defer p.discard()
	for p.n < limit {
		n, err := s.step(ctx, &p, int64(limit-p.n))
		if err != nil && s.failed.after(ctx, err, p.n > 0) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n == 0 && s.open == 0 && s.next == len(s.node.several) {
			break
		}
	}
	if p.n == 0 {
		return nil, io.EOF
	}
	return p.record(memoryOf(ctx, s.node.mem), s.node.schema.Arrow())
}

// step takes rows from the data set whose turn it is. If that has ended, it opens the next one.
func (s *interleaveStage) step(ctx context.Context, p *picks, most int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	at := s.slots[s.turn]
	if at == nil {
		if s.next == len(s.node.several) {
			s.advance()
			return 0, nil
		}
		return 0, s.openNext(ctx)
	}
	have, err := at.fill(ctx, chunkRows)
	if err != nil {
		return 0, err
	}
	if have == 0 {
		s.slots[s.turn] = nil
		s.open--
		s.advance()
		return 0, at.close()
	}
	n := min(have, s.block-s.taken, most)
	at.take(p, n)
	if s.taken += n; s.taken == s.block {
		s.advance()
	}
	return n, nil
}

func (s *interleaveStage) advance() {
	s.turn, s.taken = (s.turn+1)%len(s.slots), 0
}

func (s *interleaveStage) openNext(ctx context.Context) error {
	slot, err := s.opened(ctx, s.next)
	if err != nil {
		return err
	}
	s.slots[s.turn] = slot
	s.next++
	s.open++
	return nil
}

func (s *interleaveStage) opened(ctx context.Context, input int) (*slot, error) {
	in := s.node.several[input]
	st, err := openLater(ctx, s.ctx, in, s.epoch)
	if err != nil {
		return nil, fmt.Errorf("input %d of interleave: %w", input+1, err)
	}
	return &slot{&tap{up: st, node: in}, input}, nil
}

func (s *interleaveStage) save(w *stateWriter) error {
	w.int(int64(s.turn))
	w.int(s.taken)
	w.int(int64(s.next))
	for _, slot := range s.slots {
		if slot == nil {
			w.int(0)
			continue
		}
		w.int(int64(slot.input) + 1)
		if err := slot.save(w); err != nil {
			return err
		}
	}
	return nil
}

func (s *interleaveStage) load(ctx context.Context, r *stateReader) error {
	if err := s.close(); err != nil {
		return err
	}
	s.failed.err = nil
	inputs := int64(len(s.node.several))
	s.turn, s.taken, s.next = int(r.count(int64(len(s.slots)-1))), r.count(s.block-1), int(r.count(inputs))
	for i := range s.slots {
		input := r.count(inputs)
		if r.err != nil {
			return r.err
		}
		if input == 0 {
			continue
		}
		slot, err := s.opened(ctx, int(input)-1)
		if err != nil {
			return err
		}
		s.slots[i] = slot
		s.open++
		if err := slot.load(ctx, r); err != nil {
			return err
		}
	}
	return r.err
}

func (s *interleaveStage) close() error {
	var first error
	for i, slot := range s.slots {
		if slot == nil {
			continue
		}
		if err := slot.close(); err != nil && first == nil {
			first = err
		}
		s.slots[i] = nil
	}
	s.open = 0
	return first
}
