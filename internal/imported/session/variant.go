package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
)

// Limits of what is kept for one plan.
const (
	maxVariants = 16
	maxVerified = 4096
)

// The batch sizes at which sizes are inferred. They are primes, so that a line seldom fits both by accident; in addition, each batch
// size that is run is compared.
const probeA, probeB = 1009, 1013

// variant is a plan for feeds of certain sizes, except for the batch size.
type variant struct {
	p        *plan
	feeds    []graph.Type
	concrete bool             // for one batch size: no size depends on it
	batch    int              // the batch size
	at       [2][]infer.Value // what is known about each slot at the two probes; the same if concrete
	stages   []stage
	fresh    []bool // slots that programs compute
	verified map[int]bool
}

// stage is a part of a variant.
type stage interface {
	run(ctx context.Context, r *run) error
	// ends finds the slots that are not needed after the stage. needed is true for slots that later stages read, or whose values are
	// kept; ends adds the stage's own slots.
	ends(needed []bool)
	close()
}

// notCompiled says that some nodes turned out not to compile.
type notCompiled struct{ nodes map[*graph.Node]error }

// Error implements error.
func (e *notCompiled) Error() string { return fmt.Sprintf("%d nodes cannot be compiled", len(e.nodes)) }

// variant returns the variant for a run's feeds.
func (p *plan) variant(r *run) (*variant, error) {
	if v, ok := p.find(r); ok {
		return v, nil
	}
	p.building.Lock()
	defer p.building.Unlock()
	if v, ok := p.find(r); ok {
		return v, nil
	}
	if p.verify(r) {
		if v, ok := p.find(r); ok {
			return v, nil
		}
	}
	v, err := p.newVariant(r)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		v.close()
		return nil, errEvicted
	}
	p.variants = append([]*variant{v}, p.variants...)
	if len(p.variants) > maxVariants {
		p.variants[maxVariants].close()
		p.variants = p.variants[:maxVariants]
	}
	return v, nil
}

// find returns the most recently used variant whose feeds have the run's sizes and that was verified for its batch size.
func (p *plan) find(r *run) (*variant, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, v := range p.variants {
		if !v.takes(r) {
			continue
		}
		if i > 0 {
			copy(p.variants[1:i+1], p.variants[:i])
			p.variants[0] = v
		}
		return v, true
	}
	return nil, false
}

// takes reports whether a run's feeds fit.
func (v *variant) takes(r *run) bool {
	if v.concrete && v.batch != r.batch || !v.concrete && !v.verified[r.batch] {
		return false
	}
	return v.sized(r)
}

// sized reports whether a run's feeds have the variant's sizes.
func (v *variant) sized(r *run) bool {
	for i, typ := range v.feeds {
		if !fits(r.slots.Values[r.p.feeds[i].slot].T, typ, max(r.batch, 0)) {
			return false
		}
	}
	return true
}

// newVariant makes the variant for a run: for all batches if sizes are linear, else for this one.
func (p *plan) newVariant(r *run) (*variant, error) {
	if r.batch > 0 && !p.eagerly {
		v, err := p.infer(r, false)
		if err == nil && v.right(r) {
			v.verified[r.batch] = true
			return v, v.divide()
		}
	}
	v, err := p.infer(r, true)
	if err != nil {
		return nil, unfit(err)
	}
	return v, v.divide()
}

// verify finds a variant that turns out to be right for the run's batch size, at which it has not run yet.
func (p *plan) verify(r *run) bool {
	p.mu.Lock()
	candidates := slices.Clone(p.variants)
	p.mu.Unlock()
	for _, v := range candidates {
		if v.concrete || r.batch < 1 || !v.sized(r) || !v.right(r) {
			continue
		}
		p.mu.Lock()
		if len(v.verified) >= maxVerified {
			clear(v.verified)
		}
		v.verified[r.batch] = true
		p.mu.Unlock()
		return true
	}
	return false
}

// infer infers what is known about each slot.
func (p *plan) infer(r *run, concrete bool) (*variant, error) {
	v := &variant{p: p, concrete: concrete, batch: r.batch, verified: map[int]bool{}, fresh: make([]bool, p.size)}
	for i := range p.feeds {
		f := &p.feeds[i]
		v.feeds = append(v.feeds, pattern(r.slots.Values[f.slot].T, r.batch, f.open(r.slots.Values[f.slot].T) && !concrete))
	}
	if concrete {
		at, err := v.known(r.batch, nil)
		v.at = [2][]infer.Value{at, at}
		return v, err
	}
	for i, b := range []int{probeA, probeB} {
		at, err := v.known(b, nil)
		if err != nil {
			return nil, err
		}
		v.at[i] = at
	}
	return v, nil
}

// known infers the sizes of all slots at a batch size; over has the sizes of slots that stages have computed.
func (v *variant) known(batch int, over map[int]infer.Value) ([]infer.Value, error) {
	p := v.p
	all := make([]infer.Value, p.size)
	for i, typ := range v.feeds {
		all[p.feeds[i].slot] = infer.Shaped(typ.Shape.At(batch)...)
	}
	fed := make([]bool, p.size)
	for i := range p.feeds {
		fed[p.feeds[i].slot] = true
	}
	var room [16]infer.Value
	for i, n := range p.nodes {
		in := room[:0]
		for _, at := range p.sources[i] {
			in = append(in, all[at])
		}
		out, err := p.node(n, in)
		if err != nil {
			return nil, fmt.Errorf("node %q (%s): %w", n.Name, n.Op, err)
		}
		for k, o := range out {
			at := p.slots[n.Out(k)]
			if x, ok := over[at]; ok {
				o = x
			}
			if fed[at] {
				continue
			}
			if err := p.s.affordable(o, n.Outputs[k].DType); err != nil && batch != probeA && batch != probeB {
				return nil, fmt.Errorf("node %q (%s): %w", n.Name, n.Op, err)
			}
			all[at] = o
		}
	}
	return all, nil
}

// affordable fails for a tensor that is larger than the session allows.
func (s *Session) affordable(v infer.Value, d tensor.DType) error {
	n, err := infer.Elements(v.Shape)
	if size := int64(max(d.Size(), 1)); v.Known && err == nil && int64(n) > s.options.Limit/size {
		return fmt.Errorf("%w: %v of shape %v, the limit is %d bytes", eager.ErrLimit, d, v.Shape, s.options.Limit)
	}
	return nil
}

// unfit is the error for feeds from which no sizes can be inferred.
func unfit(err error) error {
	if errors.Is(err, eager.ErrLimit) {
		return err
	}
	return invalid("%v", err)
}

// right reports whether the sizes at a run's batch are the ones that the variant assumes.
func (v *variant) right(r *run) bool {
	at, err := v.known(r.batch, nil)
	if err != nil {
		return false
	}
	return v.agrees(v.at, at, r.batch)
}

// agrees reports whether the values known at a batch size follow from the values at the probes.
func (v *variant) agrees(probes [2][]infer.Value, at []infer.Value, batch int) bool {
	for i := range at {
		a, b := probes[0][i], probes[1][i]
		if s, ok := v.fit(a, b); ok && (!at[i].Known || !slices.Equal(s.At(batch), at[i].Shape)) {
			return false
		}
		if same(a, b) && !same(a, at[i]) {
			return false
		}
	}
	return true
}

// same reports whether two values are known and equal.
func same(a, b infer.Value) bool {
	if a.T == nil || b.T == nil {
		return false
	}
	return a.T == b.T || a.T.DType == b.T.DType && slices.Equal(a.T.Shape, b.T.Shape) && string(a.T.Bytes) == string(b.T.Bytes) &&
		slices.EqualFunc(a.T.Strings, b.T.Strings, func(x, y []byte) bool { return string(x) == string(y) })
}

// fit returns the shape that equals a and b at the two probes, or false if it is not linear in the batch.
func (v *variant) fit(a, b infer.Value) (graph.Shape, bool) {
	if !a.Known || !b.Known || len(a.Shape) != len(b.Shape) {
		return graph.Shape{}, false
	}
	s := graph.Shape{Dims: make([]graph.Dim, len(a.Shape))}
	for i, x := range a.Shape {
		y := b.Shape[i]
		if x == y {
			s.Dims[i] = graph.Fixed(x)
			continue
		}
		slope := (y - x) / (probeB - probeA)
		d := graph.Dim{PerBatch: slope, Const: x - slope*probeA}
		if d.At(probeB) != y || slope < 0 || d.Const < 0 {
			return s, false
		}
		s.Dims[i] = d
	}
	return s, true
}

func (v *variant) runStages(ctx context.Context, r *run) error {
	for _, s := range v.stages {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.slots.Settle()
		if err := s.run(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// ends finds the slots that are not needed after each stage. Feeds stay, since the run may restart.
func (v *variant) ends() {
	needed := make([]bool, v.p.size)
	for i := range v.p.feeds {
		needed[v.p.feeds[i].slot] = true
	}
	for _, at := range v.p.fetches {
		needed[at] = true
	}
	for _, s := range v.stages {
		if e, ok := s.(*eagerStage); ok {
			for _, c := range e.constants {
				needed[c.at] = true
			}
		}
	}
	for _, s := range slices.Backward(v.stages) {
		s.ends(needed)
	}
}

func (v *variant) close() {
	for _, s := range v.stages {
		s.close()
	}
}
