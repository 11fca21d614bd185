package session

import (
	"context"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
)

// maxSpecials bounds the programs of one stage for different input sizes.
const maxSpecials = 16

// compiledStage runs nodes as a program of the engine.
type compiledStage struct {
	v              *variant
	nodes          []int      // positions in the plan
	feeds, fetches []int      // slots
	done           []int      // slots whose values no later stage needs
	types          []feedType // types of the feeds
	late           bool       // some feed's size is not known before the run

	building sync.Mutex
	mu       sync.Mutex
	specials []*special // the most recently used first
	closed   bool
}

// feedType is what is known about a feed of a stage.
type feedType struct {
	dtype  tensor.DType
	shape  graph.Shape
	static bool
}

// special is a stage compiled for feeds of certain sizes.
type special struct {
	types    []graph.Type
	concrete bool // for one batch size only
	batch    int
	probes   [2][]infer.Value
	programs *programs
	verified map[int]bool
}

func (s *compiledStage) run(ctx context.Context, r *run) error {
	for _, at := range s.feeds {
		if r.slots.Values[at].T == nil {
			return invalid("node %q has no tensor as its output, but other nodes read one", s.v.p.makers[at].Name)
		}
	}
	sp, err := s.special(r)
	if err != nil {
		return err
	}
	rows := r.batch
	if sp.concrete || rows < 1 {
		rows = 1
	}
	before := r.payer.Account.Mark()
	payer := r.payer
	payer.Fixed = !s.late
	p, err := sp.programs.acquire(ctx, rows, payer)
	if err != nil {
		return err
	}
	held := r.payer.Account.Since(before)
	defer func() {
		sp.programs.give(p)
		r.payer.Account.Return(held)
	}()
	for i, at := range s.feeds {
		p.feeds[i] = r.slots.Values[at].T
	}
	if err := p.program.Run(ctx, rows, p.feeds); err != nil {
		return err
	}
	r.slots.Settle()
	for i, at := range s.fetches {
		t := p.program.Value(i)
		if err := payer.Take(t.MemoryBytes(), false); err != nil {
			return err
		}
		r.slots.Put(at, eager.Value{T: t.Clone()})
	}
	r.slots.Forget(s.done)
	return nil
}

func (s *compiledStage) ends(needed []bool) {
	for _, at := range s.feeds {
		if !needed[at] {
			needed[at] = true
			s.done = append(s.done, at)
		}
	}
}

// special returns the program for the stage's inputs.
func (s *compiledStage) special(r *run) (*special, error) {
	if sp := s.find(r); sp != nil {
		return sp, nil
	}
	s.building.Lock()
	defer s.building.Unlock()
	if sp := s.find(r); sp != nil {
		return sp, nil
	}
	if sp := s.verify(r); sp != nil {
		return sp, nil
	}
	sp, err := s.specialise(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		sp.programs.close()
		return nil, errEvicted
	}
	s.specials = append([]*special{sp}, s.specials...)
	if len(s.specials) > maxSpecials {
		s.specials[maxSpecials].programs.close()
		s.specials = s.specials[:maxSpecials]
	}
	return sp, nil
}

func (s *compiledStage) find(r *run) *special {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, sp := range s.specials {
		if !sp.takes(s, r) || s.late && !sp.concrete && !sp.verified[r.batch] {
			continue
		}
		if i > 0 {
			copy(s.specials[1:i+1], s.specials[:i])
			s.specials[0] = sp
		}
		return sp
	}
	return nil
}

// takes reports whether the stage's inputs have the right sizes.
func (sp *special) takes(s *compiledStage, r *run) bool {
	if sp.concrete && sp.batch != r.batch {
		return false
	}
	for i, at := range s.feeds {
		if !fits(r.slots.Values[at].T, sp.types[i], max(r.batch, 1)) {
			return false
		}
	}
	return true
}

// verify finds a program whose sizes turn out to be right for this batch too.
func (s *compiledStage) verify(r *run) *special {
	s.mu.Lock()
	all := slices.Clone(s.specials)
	s.mu.Unlock()
	for _, sp := range all {
		if sp.concrete || r.batch < 1 || !sp.takes(s, r) {
			continue
		}
		at, err := s.v.known(r.batch, s.over(sp.types, r.batch))
		if err != nil || !s.v.agrees(sp.probes, at, r.batch) {
			continue
		}
		s.mu.Lock()
		if len(sp.verified) >= maxVerified {
			clear(sp.verified)
		}
		sp.verified[r.batch] = true
		s.mu.Unlock()
		return sp
	}
	return nil
}

// over returns what is known about the stage's feeds at a batch size.
func (s *compiledStage) over(types []graph.Type, batch int) map[int]infer.Value {
	m := make(map[int]infer.Value, len(types))
	for i, at := range s.feeds {
		m[at] = infer.Shaped(types[i].Shape.At(batch)...)
	}
	return m
}

// specialise compiles the stage for its inputs: for all batches if sizes are linear, else for this one.
func (s *compiledStage) specialise(r *run) (*special, error) {
	if !s.v.concrete && r.batch > 0 {
		sp := &special{verified: map[int]bool{}}
		for i, at := range s.feeds {
			if f := s.types[i]; f.static {
				sp.types = append(sp.types, graph.Type{DType: f.dtype, Shape: f.shape})
				continue
			}
			sp.types = append(sp.types, pattern(r.slots.Values[at].T, r.batch, true))
		}
		err := s.inferred(sp, r)
		if _, ok := err.(*notCompiled); err == nil || ok {
			return sp, err
		}
	}
	sp := &special{concrete: true, batch: r.batch}
	for i, at := range s.feeds {
		typ := graph.Type{DType: s.types[i].dtype, Shape: graph.ShapeOf(s.types[i].shape.At(max(r.batch, 1))...)}
		if t := r.slots.Values[at].T; t != nil { // there are no values before the first run
			typ = pattern(t, r.batch, false)
		}
		sp.types = append(sp.types, typ)
	}
	return sp, s.inferred(sp, r)
}

// inferred infers the sizes within the stage and makes its first program.
func (s *compiledStage) inferred(sp *special, r *run) error {
	sp.probes = s.v.at
	if s.late || sp.concrete {
		probes := [2]int{probeA, probeB}
		if sp.concrete {
			probes = [2]int{max(r.batch, 0), max(r.batch, 0)}
		}
		for i, b := range probes {
			at, err := s.v.known(b, s.over(sp.types, b))
			if err != nil {
				return unfit(err)
			}
			sp.probes[i] = at
		}
		if !sp.concrete {
			at, err := s.v.known(r.batch, s.over(sp.types, r.batch))
			if err != nil {
				return unfit(err)
			}
			if !s.v.agrees(sp.probes, at, r.batch) {
				return errNotLinear
			}
			sp.verified[r.batch] = true
		}
	}
	e, spec, err := s.emit(sp)
	if err != nil {
		return err
	}
	sp.programs, err = newPrograms(s.v.p.s, e.b.Graph, spec, r)
	if err != nil {
		return s.refused(err, e.owners)
	}
	return nil
}

func (s *compiledStage) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, sp := range s.specials {
		sp.programs.close()
	}
	s.specials = nil
}
