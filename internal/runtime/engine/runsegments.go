package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// prepare runs what need not run each time, and waits for it, so that it is known to be done.
func (l *lowered) prepare() error {
	p := l.p
	if !p.fresh && !p.exec.rebatch {
		return nil
	}
	if p.fresh {
		if err := l.runSegments(l.once[perCompile], false); err != nil {
			return err
		}
	}
	if p.exec.rebatch {
		if err := l.runSegments(l.once[perBatchSize], false); err != nil {
			return err
		}
	}
	if err := p.stream.Synchronize(); err != nil {
		return err
	}
	p.fresh = false
	return nil
}

// runPhase issues a phase's work; that of the accelerator may still be under way then.
func (l *lowered) runPhase(i int) error {
	if i == 0 {
		if err := l.prepare(); err != nil {
			return err
		}
	}
	return l.runSegments(l.phases[i], true)
}

// run issues parts, which can be stopped until one updates a variable.
func (l *lowered) runSegments(parts []segment, stops bool) error {
	for i := range parts {
		t := &parts[i]
		if stops {
			if t.kernel != nil && t.writes() {
				if err := l.p.exec.stopped(); err != nil {
					return err
				}
				l.p.exec.done = nil
			}
			if err := l.p.exec.stopped(); err != nil {
				return err
			}
		}
		if err := l.runSegment(t); err != nil {
			return err
		}
	}
	return nil
}

// stopped is the context's error where the run is to end.
func (e *execution) stopped() error {
	select {
	case <-e.done:
		return e.ctx.Err()
	default:
		return nil
	}
}

func (l *lowered) runSegment(t *segment) error {
	p := l.p
	switch {
	case t.kernel == nil:
		return l.runHostSegment(t)
	case p.opts.Profile:
		defer t.steps[0].measure(p.batch)()
		if err := p.stream.Launch(t.kernel); err != nil {
			return err
		}
		if err := p.stream.Synchronize(); err != nil {
			return err
		}
	default:
		if err := p.stream.Launch(t.kernel); err != nil {
			return err
		}
	}
	if p.opts.CheckNumerics {
		return l.checkStep(t.steps[0])
	}
	return nil
}

// runHostSegment brings operands to the host, runs the steps, and brings to the device what it needs of their results.
func (l *lowered) runHostSegment(t *segment) error {
	p := l.p
	if err := l.load(t.loads, t.loadVars); err != nil {
		return err
	}
	for _, s := range t.steps {
		if len(s.op.write) > 0 {
			if err := p.exec.stopped(); err != nil {
				return err
			}
			p.exec.done = nil
		}
		p.at = s
		if err := p.runStep(s); err != nil {
			return err
		}
		p.at = nil
		if err := p.exec.stopped(); err != nil {
			return err
		}
	}
	for _, v := range t.stores {
		if v.n == 0 {
			continue
		}
		if err := p.stream.Upload(p.arena, v.base().off, v.bytes()); err != nil {
			return fmt.Errorf("bring a result of the host to %s: %w", l.dev.Kind(), err)
		}
	}
	for _, x := range t.storeVars {
		if err := p.stream.Upload(x.of.buf, 0, x.copy.memory()); err != nil {
			return fmt.Errorf("bring a variable of the host to %s: %w", l.dev.Kind(), err)
		}
	}
	return nil
}

// load brings values and variables to the host and waits for them, and for all that was issued before, whose faults must
// end the run here.
func (l *lowered) load(values []*value, vars []*shadow) error {
	p := l.p
	for _, v := range values {
		if v.n == 0 {
			continue
		}
		if err := p.stream.Download(v.bytes(), p.arena, v.base().off); err != nil {
			return fmt.Errorf("bring an operand from %s to the host: %w", l.dev.Kind(), err)
		}
	}
	for _, x := range vars {
		if err := p.stream.Download(x.copy.memory(), x.of.buf, 0); err != nil {
			return fmt.Errorf("bring a variable from %s to the host: %w", l.dev.Kind(), err)
		}
	}
	return p.stream.Synchronize()
}

// checkStep looks for NaN and infinities in the results of a step of the accelerator.
func (l *lowered) checkStep(s *step) error {
	var made []*value
	for _, v := range s.out {
		if v.typ.DType.Float() {
			made = append(made, v)
		}
	}
	if len(made) == 0 {
		return nil
	}
	if err := l.load(made, nil); err != nil {
		return err
	}
	for _, v := range made {
		if finite, _ := finiteValue(v); finite {
			continue
		}
		if err := l.loadVariables(s); err != nil {
			return err
		}
		return s.checkNumerics()
	}
	return nil
}

// loadVariables brings the variables that a step has read to the host, where feeds are anyway: see step.checkNumerics.
func (l *lowered) loadVariables(s *step) error {
	var copies []*value
	var vars []*shadow
	for _, in := range s.op.in {
		in = storageOf(in)
		switch v := in.value(); {
		case in.op.reads == nil:
		case v.home == inVariable:
			vars = append(vars, l.host.shadow(in.op.reads))
		default:
			copies = append(copies, v)
		}
	}
	return l.load(copies, vars)
}

// bindFeeds uploads the feeds that the accelerator needs; the host reads them where they are.
func (l *lowered) bindFeeds(feeds []*tensor.Tensor) error {
	p := l.p
	for i, f := range p.feeds {
		v := f.op.out[0]
		v.mem = f.aligned(feeds[i].Bytes)
		if !l.host.onDevice[v] || len(feeds[i].Bytes) == 0 {
			continue
		}
		if err := p.stream.Upload(p.arena, v.off, feeds[i].Bytes); err != nil {
			return fmt.Errorf("feed %s: %w", f.name, err)
		}
	}
	p.shareFeeds()
	return nil
}

// drain waits for what a failed run has left, so that nothing uses the caller's memory any more.
func (l *lowered) drain() { _ = l.p.stream.Synchronize() }
