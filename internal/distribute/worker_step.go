package distribute

import (
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models/optimizers"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// workerStep makes the steps of one worker: pull, compute, push.
type workerStep struct {
	strategy *parameterServer
	train    TrainProgram
	layout   *layout
	names    []string // variables, in the order of the gradients
	programs *workerPrograms
	lookups  workerLookups
	function []*collector // by replica; nil: gradients
	scale    *lossScale   // nil: no loss scale that changes
	mirror   *ps.Mirror   // of variables that are read whole
	step     int64        // step of the pulled values
	pulled   time.Time    // when the latest push returned values; zero: it did not
	rate     float64
	push     ps.Push
}

func newWorkerStep(p *parameterServer, t TrainProgram) (*workerStep, error) {
	if t.Train.SkipNonFinite > 0 {
		return nil, runconfig.Mistake(errors.New("optimizer.skip_nonfinite needs one decision over all gradients, which parameter servers do not make: leave it out, or use multi_worker_mirrored"))
	}
	t, scale, err := unscale(t)
	if err != nil {
		return nil, err
	}
	if !p.config.Sync && t.Train.Step == nil {
		if t.Train, t.Gradients, err = update.Clip(t.Train, graph.NewBuilder(t.Graph), t.Gradients); err != nil {
			return nil, err
		}
	}
	l, err := newLayout(t)
	if err != nil {
		return nil, err
	}
	scale.fetch(l)
	if p.config.Sync && scale != nil {
		return nil, runconfig.Mistake(errors.New("a loss scale that changes needs one decision over all gradients, which synchronous parameter servers do not make: give a number as loss_scale, or use multi_worker_mirrored"))
	}
	s := &workerStep{strategy: p, train: t, layout: l, scale: scale}
	p.forget[s] = s.forget
	for _, g := range t.Train.Groups {
		for _, v := range g.Variables {
			s.names = append(s.names, v.Name)
		}
	}
	if s.lookups, err = newWorkerLookups(t.Program, findLookups(t, l.fetches), len(p.devs)); err != nil {
		return nil, err
	}
	if err := s.copyVariables(); err != nil {
		return nil, err
	}
	if op := t.Train.Step; op != nil {
		for range p.devs {
			c, err := newCollector(op, s.mirror.Tensor)
			if err != nil {
				return nil, err
			}
			s.function = append(s.function, c)
		}
	}
	spec := engine.Spec{Feeds: append(t.Feeds[:len(t.Feeds):len(t.Feeds)], t.GlobalStep), Fetches: l.fetches}
	for _, x := range s.lookups.list() {
		spec.Feeds = append(spec.Feeds, x.rows)
	}
	s.programs, err = newWorkerPrograms(p, t, l, spec)
	return s, err
}

// copyVariables makes room for the variables that the program reads whole.
func (s *workerStep) copyVariables() (err error) {
	var changed []string
	if op := s.train.Train.Step; op != nil {
		for _, v := range op.Variables {
			changed = append(changed, v.Name)
		}
	}
	s.mirror, err = s.strategy.mirrorOf(s.layout.fetches, s.lookups.fed(s.train.GlobalStep.Node), changed...)
	return err
}

// mirrorOf returns a mirror of the variables that fetches read whole, and of others, and
// makes room for their copies. The search for reads stops at fed nodes.
func (p *parameterServer) mirrorOf(fetches []graph.Output, fed map[*graph.Node]bool, others ...string) (*ps.Mirror, error) {
	whole := others
	for name := range readsOf(reachable(fetches, fed)) {
		if name != GlobalStep && !slices.Contains(whole, name) {
			whole = append(whole, name)
		}
	}
	if len(whole) == 0 {
		return &ps.Mirror{}, nil
	}
	m, err := ps.NewMirror(p.plan, whole...)
	if err != nil {
		return nil, err
	}
	for _, name := range whole {
		if p.copies.has(name) {
			continue // belongs to an earlier program
		}
		if err := p.copies.each(func(v *engine.Variables) error { return v.Create(name, m.Tensor(name)) }); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// pull updates a mirror's variables, unless they are fresh, and the copies that programs read.
func (p *parameterServer) pull(ctx context.Context, m *ps.Mirror, fresh bool) (step int64, err error) {
	if !fresh {
		progress, err := p.client.Pull(ctx, m)
		if err != nil {
			return 0, err
		}
		step = progress.GlobalStep
	}
	for _, name := range m.Names() {
		v := m.Version(name)
		if p.copied[name] == v {
			continue
		}
		if err := p.copies.each(func(v *engine.Variables) error { return v.Set(name, m.Tensor(name)) }); err != nil {
			return 0, err
		}
		p.copied[name] = v
	}
	return step, nil
}

// Step pulls, computes and pushes.
func (s *workerStep) Step(ctx context.Context, in Step) (Outcome, error) {
	if n := len(in.Batches); n == 0 || n > len(s.programs.replicas) {
		return Outcome{}, fmt.Errorf("step: expected 1 to %d batches, got %d", len(s.programs.replicas), n)
	}
	if err := s.lookups.pull(ctx, s.strategy.client, in.Batches); err != nil {
		return Outcome{}, recoverable(ctx, err)
	}
	return s.run(ctx, in)
}

// run makes the step on batches whose rows were fetched.
func (s *workerStep) run(ctx context.Context, in Step) (Outcome, error) {
	began := in.began()
	if err := s.pull(ctx); err != nil {
		return Outcome{}, recoverable(ctx, err)
	}
	if err := s.programs.run(ctx, in.Batches, s.step, s.lookups); err != nil {
		return Outcome{}, err
	}
	if s.function != nil {
		if err := s.collect(); err != nil {
			return Outcome{}, err
		}
	} else {
		s.rate = optimizers.RateAt(s.train.Train.Groups[0].LearningRate, s.step)
	}
	if err := s.fill(in); err != nil {
		return Outcome{}, err
	}
	reply, err := s.strategy.client.Push(ctx, s.push)
	if err != nil {
		return Outcome{}, recoverable(ctx, err)
	}
	if reply.Pulled {
		s.pulled, s.step = time.Now(), reply.GlobalStep
	}
	s.strategy.pace.add(time.Since(began))
	if s.strategy.config.Sync {
		if in.Waiting == nil {
			in.Waiting = ctx
		}
		if reply.Progress, err = s.strategy.awaitStep(in.Waiting, s.step+1); err != nil {
			if in.Waiting.Err() != nil {
				return Outcome{GlobalStep: s.step, Stop: Interrupted}, nil
			}
			return Outcome{}, recoverable(ctx, err)
		}
	}
	out := Outcome{GlobalStep: reply.GlobalStep, Applied: true}
	s.strategy.step = out.GlobalStep
	if reply.Stop {
		out.Stop = Finished
	}
	return out, nil
}

// collect adds the replicas' tallies.
func (s *workerStep) collect() error {
	for i, r := range s.programs.replicas[:s.programs.used] {
		c := s.function[i]
		if err := c.collect(s.layout.args, r.program.Value); err != nil {
			return err
		}
		if i == 0 {
			s.push.Tally = &c.tally
		} else if err := s.push.Tally.Add(&c.tally); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what is known about the variables, since they may belong to another session.
func (s *workerStep) forget() {
	s.pulled = time.Time{}
}

// fresh is how long values that came with a push count as current.
const fresh = 100 * time.Millisecond

// pull updates the variables that are read whole.
func (s *workerStep) pull(ctx context.Context) error {
	known := time.Since(s.pulled) <= fresh && !s.strategy.several // another program may have pushed since
	step, err := s.strategy.pull(ctx, s.mirror, known)
	if err == nil && !known {
		s.step = step
	}
	s.pulled = time.Time{}
	return err
}

// fill collects what the step will push.
func (s *workerStep) fill(in Step) error {
	x := &s.push
	x.Step, x.Weight, x.Into = s.step, 1, nil
	if !s.strategy.config.Sync && len(s.mirror.Names()) > 0 {
		x.Into = s.mirror
	}
	decides := s.programs.deciding(s.scale)
	x.Gradients, x.Assign = x.Gradients[:0], s.scale.assign(x.Assign[:0], decides)
	grads := s.layout.grads
	if !s.scale.finite(decides) {
		grads = nil
	}
	for i, places := range grads {
		lookups := 0
		for _, at := range places {
			for _, g := range s.gradients(at) {
				g.Variable, g.Lookup = s.names[i], lookups
				x.Gradients = append(x.Gradients, g)
				lookups++
			}
		}
	}
	for i, u := range s.train.Updates {
		x.Assign = append(x.Assign, ps.Assignment{Variable: u.Variable, Value: s.programs.Value(s.layout.dense[s.layout.updates[i]])})
	}
	x.Position = nil
	if in.Position == nil {
		return nil
	}
	var err error
	if x.Position, err = in.Position(); err != nil {
		return fmt.Errorf("input position: %w", err)
	}
	return nil
}

// gradients returns the part of a variable's gradient from one lookup. There are several if
// the servers must sum rows at equal indices, not rows of equal ids.
func (s *workerStep) gradients(at place) []ps.Gradient {
	if at.sparse {
		pair := s.layout.sparse[at.index]
		ids := int64s(s.programs.Value(pair.ids))
		kept := present(ids)
		return []ps.Gradient{{IDs: kept, Apart: len(s.train.Train.Transforms) > 0 && !at.byIndex, Value: presentRows(s.programs.Value(pair.rows), ids, kept)}}
	}
	value := s.programs.Value(s.layout.dense[at.index])
	if at.ids == nil {
		return []ps.Gradient{{Value: value}}
	}
	var all []ps.Gradient
	for _, places := range at.apart {
		all = append(all, chosen(value, int64s(at.ids), places))
	}
	return all
}

// chosen returns the rows and ids at some indices.
func chosen(rows *tensor.Tensor, ids []int64, places []int) ps.Gradient {
	out := *rows
	out.Shape = append([]int{len(places)}, rows.Shape[1:]...)
	out.Bytes = nil
	g := ps.Gradient{IDs: make([]int64, 0, len(places)), Value: &out}
	size := len(rows.Bytes) / max(len(ids), 1)
	for _, at := range places {
		g.IDs = append(g.IDs, ids[at])
		out.Bytes = append(out.Bytes, rows.Bytes[at*size:(at+1)*size]...)
	}
	return g
}

// awaitStep waits until a synchronous step is made, as long as there are enough workers
// for it. It also waits for lost workers to come back.
func (p *parameterServer) awaitStep(ctx context.Context, step int64) (ps.Progress, error) {
	missing, report := time.Time{}, waiting.Begin(time.Now())
	limit := p.job.rejoinTimeout()
	if !p.stepped { // the workers meet for the first time
		limit = p.job.sessionTimeout()
	}
	for {
		wait, cancel := context.WithTimeout(ctx, 2*time.Second)
		progress, err := p.client.WaitStep(wait, step)
		// The server may reach the deadline before this task.
		late := (wait.Err() != nil || errors.Is(err, context.DeadlineExceeded)) && ctx.Err() == nil
		cancel()
		p.stepped = p.stepped || err == nil
		if err == nil || !late || errors.Is(err, cluster.ErrPeerLost) || errors.Is(err, ps.ErrReset) {
			return progress, err
		}
		report.Report(p.job.log, func() []waiting.Target { return p.absentForStep(ctx, progress) })
		others, err := p.others(ctx)
		switch {
		case err != nil:
			return progress, err
		case len(others)+1 >= p.sync().Aggregate:
			missing = time.Time{}
		case missing.IsZero():
			missing = time.Now()
		case time.Since(missing) > limit:
			return progress, p.tooFew(step, append(others, p.job.node.Task()), limit)
		}
	}
}

// tooFew returns the error of a synchronous step for which there are too few workers.
func (p *parameterServer) tooFew(step int64, there []cluster.Task, limit time.Duration) error {
	var gone []cluster.Task
	for _, w := range p.job.workers {
		if !slices.Contains(there, w) {
			gone = append(gone, w)
		}
	}
	return lost(fmt.Sprintf("step %d needs the gradients of %d workers; after %v there are only %v, without %v", step, p.sync().Aggregate, limit, there, gone),
		context.DeadlineExceeded)
}

// Value returns a fetch of the last step.
func (s *workerStep) Value(i int) *tensor.Tensor { return s.programs.Value(i) }

func (s *workerStep) replicaValue(replica, i int) *tensor.Tensor {
	return s.programs.replicas[replica].program.Value(i)
}

// LearningRate returns the rate for the values at the start of the last step.
func (s *workerStep) LearningRate() float64 { return s.rate }

// Placement returns where the program of this worker's first replica runs.
func (s *workerStep) Placement() Placement { return s.programs.replicas[0].placement() }

// Profile returns the times of this worker's first program.
func (s *workerStep) Profile() []NodeTime { return s.programs.replicas[0].program.Profile() }

// Close frees the programs.
func (s *workerStep) Close() error {
	delete(s.strategy.forget, s)
	return errors.Join(s.programs.close(), s.lookups.close())
}
