package engine

import (
	"errors"
)

// acceleratorTarget is an accelerator as compilation sees it.
type acceleratorTarget struct {
	dev Accelerator
	low *lowering // of the plan; made by place for open
}

var _ target = (*acceleratorTarget)(nil)

// bind only checks ops without steps; place decides where steps run.
func (t *acceleratorTarget) bind(p *plan, s *step, shared *sharedWeights) error {
	if s.op.def.alias {
		return s.bind(p, s.op, p.changing, shared)
	}
	s.compute = func() error { return errUnplaced }
	return nil
}

// errUnplaced is a mistake of the engine: a step of the accelerator runs on the host.
var errUnplaced = errors.New("the step has no form for the host")

// place makes an operation of each step, or a step on the host, and cuts the plan into segments.
func (t *acceleratorTarget) place(p *plan, vars *Variables) error {
	p.serial, p.precision = true, p.options.Precision
	l := newLowering(p, t.dev, vars)
	var errs []error
	for _, s := range p.steps {
		errs = append(errs, l.place(s))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	l.split()
	t.low = l
	return nil
}

func (t *acceleratorTarget) open(s *state) (executor, pipeline, error) {
	a := &acceleratorExecutor{state: s, low: t.low}
	a.ahead.a = a
	return a, a, a.load()
}
