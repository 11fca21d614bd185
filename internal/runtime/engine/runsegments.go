package engine

import "fmt"

// issuePhase issues a phase's work. When it returns, the accelerator may still be working.
func (a *acceleratorExecutor) issuePhase(i int) error {
	if i == 0 {
		if err := a.runPending(); err != nil {
			return err
		}
	}
	return a.issueSegments(a.low.phases[i], true)
}

// runPending does the steps that do not run each time, and waits for them, so that it knows they are done.
func (a *acceleratorExecutor) runPending() error {
	if a.pending == [perRun]bool{} {
		return nil
	}
	for often, segments := range a.low.once {
		if !a.pending[often] {
			continue
		}
		if err := a.issueSegments(segments, false); err != nil {
			return err
		}
	}
	if err := a.stream.Synchronize(); err != nil {
		return err
	}
	a.pending = [perRun]bool{}
	return nil
}

// issueSegments issues segments. Between them a run can be stopped, until a segment updates a variable.
func (a *acceleratorExecutor) issueSegments(segments []segment, stops bool) error {
	for i := range segments {
		t := &segments[i]
		if stops {
			if err := a.stopped(); err != nil {
				return err
			}
			if !t.onHost && t.writes() {
				a.done = nil
			}
		}
		if err := a.runSegment(t); err != nil {
			return err
		}
	}
	return nil
}

func (a *acceleratorExecutor) runSegment(t *segment) error {
	switch {
	case t.onHost:
		return a.runHostSegment(t)
	case a.options.Profile:
		defer t.steps[0].measure(a.batch)()
		if err := a.stream.Launch(t.kernel); err != nil {
			return err
		}
		if err := a.stream.Synchronize(); err != nil {
			return err
		}
	default:
		if err := a.stream.Launch(t.kernel); err != nil {
			return err
		}
	}
	if a.options.CheckNumerics {
		return a.checkStep(t.steps[0])
	}
	return nil
}

// runHostSegment copies operands to the host, runs the steps, and copies the results that the device needs back.
func (a *acceleratorExecutor) runHostSegment(t *segment) error {
	if err := a.fetchToHost(t.loads, t.loadVars); err != nil {
		return err
	}
	for _, s := range t.steps {
		if len(s.op.write) > 0 {
			if err := a.commit(); err != nil {
				return err
			}
		}
		a.at = s
		if err := a.runStep(s); err != nil {
			return err
		}
		a.at = nil
		if err := a.stopped(); err != nil {
			return err
		}
	}
	for _, v := range t.stores {
		if v.n == 0 {
			continue
		}
		if err := a.stream.Upload(a.arena, v.base().off, v.bytes()); err != nil {
			return fmt.Errorf("bring a result of the host to %s: %w", a.kind(), err)
		}
	}
	for _, x := range t.storeVars {
		if err := a.stream.Upload(x.of.buf, 0, x.copy.memory()); err != nil {
			return fmt.Errorf("bring a variable of the host to %s: %w", a.kind(), err)
		}
	}
	return nil
}

// fetchToHost copies values and variables to the host and waits for them and for all earlier work, whose faults must end the
// run here.
func (a *acceleratorExecutor) fetchToHost(values []*value, vars []*shadow) error {
	for _, v := range values {
		if v.n == 0 {
			continue
		}
		if err := a.stream.Download(v.bytes(), a.arena, v.base().off); err != nil {
			return fmt.Errorf("bring an operand from %s to the host: %w", a.kind(), err)
		}
	}
	for _, x := range vars {
		if err := a.stream.Download(x.copy.memory(), x.of.buf, 0); err != nil {
			return fmt.Errorf("bring a variable from %s to the host: %w", a.kind(), err)
		}
	}
	return a.stream.Synchronize()
}

// checkStep looks for NaN and infinities in the results of a step of the accelerator.
func (a *acceleratorExecutor) checkStep(s *step) error {
	var made []*value
	for _, v := range s.out {
		if v.typ.DType.Float() {
			made = append(made, v)
		}
	}
	if len(made) == 0 {
		return nil
	}
	if err := a.fetchToHost(made, nil); err != nil {
		return err
	}
	for _, v := range made {
		if finite, _ := finiteValue(v); finite {
			continue
		}
		if err := a.loadVariables(s); err != nil {
			return err
		}
		return s.checkNumerics()
	}
	return nil
}

// loadVariables copies the variables that a step has read to the host for step.checkNumerics. Feeds are there anyway.
func (a *acceleratorExecutor) loadVariables(s *step) error {
	var copies []*value
	var vars []*shadow
	for _, in := range s.op.in {
		in = storageOf(in)
		switch v := in.value(); {
		case in.op.reads == nil:
		case v.home == inVariable:
			vars = append(vars, a.low.host.shadow(in.op.reads))
		default:
			copies = append(copies, v)
		}
	}
	return a.fetchToHost(copies, vars)
}
