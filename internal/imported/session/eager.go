package session

import (
	"context"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/timeline"
)

// eagerStage runs nodes one by one.
type eagerStage struct {
	env       *eager.Env
	constants []constantValue // values that are the same in all runs
	steps     []eagerStep
}

// constantValue is a value with its slot.
type constantValue struct {
	at int
	v  eager.Value
}

// eagerStep is one node.
type eagerStep struct {
	eager.Step
	fixed bool // the sizes of its results depend only on the number of rows
}

// shown is a kernel that reports its node to a trace in progress.
func shown(n *graph.Node, k eager.Kernel) eager.Kernel {
	return func(ctx context.Context, env *eager.Env, in, out []eager.Value) error {
		if timeline.Active() == nil {
			return k(ctx, env, in, out)
		}
		within, end := timeline.Begin(ctx, timeline.Event{Line: timeline.Runs, Name: n.Name, Op: n.Op})
		defer end()
		return k(within, env, in, out)
	}
}

func (s *eagerStage) run(ctx context.Context, r *run) error {
	for _, g := range s.constants {
		r.slots.Values[g.at] = g.v
	}
	envs := r.envs(s.env)
	for i := range s.steps {
		st := &s.steps[i]
		env := envs.open
		if st.fixed {
			env = envs.fixed
		}
		if err := r.slots.Run(ctx, env, &st.Step); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (s *eagerStage) ends(needed []bool) {
	for i := len(s.steps) - 1; i >= 0; i-- {
		s.steps[i].Ends(needed)
	}
}

func (s *eagerStage) close() {}
