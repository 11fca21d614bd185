package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// code is one program.
type code struct {
	d     *Device
	steps []lower.Step

	fault  driver.Ptr    // the fault record
	record driver.Pinned // a copy of it

	bound []*bound // most recently used first
}

// maxBound is the number of batch sizes for which a program keeps its launches.
const maxBound = 4

// bound has a program's launches for a batch size.
type bound struct {
	batch    int
	launches [][]lower.Launch // by operation
	replays  map[*segment]*replay
}

// replay is a segment's launches, captured as a graph if possible.
type replay struct {
	launches []lower.Launch
	launched bool
	direct   bool // not captured: a single launch, or something that cannot be captured
	graph    driver.Graph
}

// Supports implements engine.Accelerator.
func (d *Device) Supports(o *engine.Operation) error { return lower.Supports(o) }

// Lower implements engine.Accelerator. Kernels generated for the program are compiled as one module, and kept for other
// programs.
func (d *Device) Lower(ops []*engine.Operation, how engine.LowerOptions) (engine.Code, error) {
	if err := d.alive(); err != nil {
		return nil, err
	}
	c := &code{d: d, steps: make([]lower.Step, len(ops))}
	var err error
	if c.fault, err = d.context.Alloc(kernels.FaultBytes); err != nil {
		return nil, d.check(err)
	}
	if c.record, err = d.context.AllocHost(kernels.FaultBytes); err != nil {
		return nil, errors.Join(d.check(err), d.context.Free(c.fault))
	}
	d.mu.Lock()
	d.programs[c] = true
	d.mu.Unlock()
	if err := c.lower(ops, how); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *code) lower(ops []*engine.Operation, how engine.LowerOptions) error {
	t := &lower.Target{Context: c.d.context, Kernels: c.d.library, Products: c.d.parts.Products, Convs: c.d.parts.Convs, Fault: c.fault}
	if how.TF32 {
		t.Precision = lower.TF32
	}
	var chains []*kernels.Chain
	for i, o := range ops {
		s, err := lower.Lower(t, o)
		if err != nil {
			return fmt.Errorf("node %s: %w", o.Node.Name, err)
		}
		c.steps[i] = s
		if g, ok := s.(lower.Generated); ok {
			chains = append(chains, g.Chain())
		}
	}
	return c.d.Generate(context.Background(), chains...)
}

// Generate compiles the chains that the device does not have yet as one module. Lower does so for its program.
func (d *Device) Generate(ctx context.Context, chains ...*kernels.Chain) error {
	var missing []*kernels.Chain
	for _, c := range chains {
		if !d.library.Has(c.Kernel.Name) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return d.check(d.library.Add(ctx, kernels.ChainModule("chains", missing...)))
}

// Workspace implements engine.Code.
func (c *code) Workspace(i, batch int) int { return c.steps[i].Workspace(batch) }

// Segment implements engine.Code.
func (c *code) Segment(ops []int) device.Kernel { return &segment{c, slices.Clone(ops)} }

// Bind implements engine.Code.
func (c *code) Bind(batch int, moved bool) error {
	if moved {
		if err := c.drop(0); err != nil {
			return err
		}
	}
	if i := slices.IndexFunc(c.bound, func(b *bound) bool { return b.batch == batch }); i >= 0 {
		b := c.bound[i]
		copy(c.bound[1:], c.bound[:i])
		c.bound[0] = b
		return nil
	}
	b := &bound{batch: batch, launches: make([][]lower.Launch, len(c.steps)), replays: map[*segment]*replay{}}
	for i, s := range c.steps {
		var err error
		if b.launches[i], err = s.Bind(); err != nil {
			return c.d.check(err)
		}
	}
	c.bound = slices.Insert(c.bound, 0, b)
	return c.drop(maxBound)
}

// drop keeps only the first n of bound.
func (c *code) drop(n int) error {
	var errs []error
	for len(c.bound) > n {
		last := len(c.bound) - 1
		for _, r := range c.bound[last].replays {
			if r.graph != nil {
				errs = append(errs, r.graph.Close())
			}
		}
		c.bound[last] = nil
		c.bound = c.bound[:last]
	}
	return c.d.check(errors.Join(errs...))
}

// Close implements engine.Code.
func (c *code) Close() error {
	c.d.mu.Lock()
	ok := c.d.programs[c]
	delete(c.d.programs, c)
	c.d.mu.Unlock()
	if !ok || c.d.alive() != nil { // freed with the context, whose calls may not even return
		return nil
	}
	errs := []error{c.drop(0)}
	for _, s := range c.steps {
		if closer, ok := s.(interface{ Close() error }); ok {
			errs = append(errs, closer.Close())
		}
	}
	return c.d.check(errors.Join(append(errs, c.d.context.Free(c.fault), c.record.Free())...))
}

// readFault copies the fault record to the host.
func (c *code) readFault(s driver.Stream) error { return s.Download(c.record.Bytes(), c.fault) }

// foundFault returns the record's fault as an error.
func (c *code) foundFault() error { return lower.Fault(lower.ReadFault(c.record.Bytes()), c.steps) }

// segment is operations of a program that are launched together.
type segment struct {
	c   *code
	ops []int
}

// launch issues the segment: launch by launch the first time for a batch size, and as a captured graph from the second time on.
func (g *segment) launch(s *Stream) error {
	c := g.c
	if len(c.bound) == 0 {
		return errors.New("a program's kernel was launched before Bind")
	}
	if !slices.Contains(s.programs, c) {
		if err := s.s.Fill(c.fault, 0, kernels.FaultBytes); err != nil {
			return err
		}
		s.programs = append(s.programs, c)
	}
	b := c.bound[0]
	r := b.replays[g]
	if r == nil {
		r = &replay{launches: g.launches(b)}
		r.direct = len(r.launches) <= 1
		b.replays[g] = r
	}
	if r.launched && !r.direct && r.graph == nil {
		var err error
		r.graph, err = s.s.Capture(func() error { return r.issue(s.s) })
		if r.direct = errors.Is(err, driver.ErrCapture); err != nil && !r.direct {
			return err
		}
	}
	r.launched = true
	if r.graph != nil {
		return r.graph.Launch(s.s)
	}
	return r.issue(s.s)
}

// launches returns the launches of the segment's operations, merged where possible.
func (g *segment) launches(b *bound) []lower.Launch {
	var all []lower.Launch
	for _, i := range g.ops {
		all = append(all, b.launches[i]...)
	}
	return lower.Join(all)
}

func (r *replay) issue(s driver.Stream) error {
	for _, l := range r.launches {
		if err := l.Issue(s); err != nil {
			return err
		}
	}
	return nil
}
