package session

import (
	"context"

	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/timeline"
)

// eagerStage runs nodes one by one.
type eagerStage struct {
	env       *eager.Env
	constants []constantValue // values that are the same in all runs
	steps     []eagerStep
	width     int // most inputs and outputs of a step
}

// constantValue is a value with its slot.
type constantValue struct {
	at int
	v  eager.Value
}

// eagerStep is one node: its kernel and the slots of its values.
type eagerStep struct {
	name, op string // of the node
	kernel   eager.Kernel
	in, out  []int // -1: fed, so that the result is dropped
	fixed    bool  // the sizes of its results follow from the number of rows
}

// compute calls the kernel, and shows it in the capture that is going on.
func (s *eagerStep) compute(ctx context.Context, env *eager.Env, in, out []eager.Value) error {
	if timeline.Active() == nil {
		return s.kernel(ctx, env, in, out)
	}
	within, end := timeline.Begin(ctx, timeline.Event{Line: timeline.Runs, Name: s.name, Op: s.op})
	defer end()
	return s.kernel(within, env, in, out)
}

func (s *eagerStage) run(ctx context.Context, r *run) error {
	for _, g := range s.constants {
		r.values[g.at] = g.v
	}
	room := make([]eager.Value, s.width)
	envs := r.envs(s.env)
	for i := range s.steps {
		st := &s.steps[i]
		in, out := room[:len(st.in)], room[len(st.in):len(st.in)+len(st.out)]
		for k, at := range st.in {
			in[k] = r.values[at]
		}
		clear(out)
		env := envs.open
		if st.fixed {
			env = envs.fixed
		}
		if err := st.compute(ctx, env, in, out); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for k, at := range st.out {
			if at >= 0 {
				r.values[at] = out[k]
			}
		}
	}
	return nil
}

func (s *eagerStage) close() {}
