package eager

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/imported/queue"
)

// graphFunc is a function of a graph that outlives the step, with its captured values.
type graphFunc struct {
	f        *Function
	name     string
	env      *Env
	captured []Value

	mu   sync.Mutex
	free []*frame // of finished calls, for reuse
}

// function returns the function of that name; its arguments are elements, then the values of an input.
func (in *inputs) function(name, captured string) dataset.Func {
	if in.c.env == nil || in.c.env.Functions[name] == nil {
		in.fail("function %q: there is none", name)
		return nil
	}
	env := *in.c.env
	if !env.Payer.Lasting && env.Room == nil {
		env.Payer = Payer{} // the payer is the step's
	}
	g := &graphFunc{f: env.Functions[name], name: name, env: &env, captured: append([]Value(nil), in.values(captured)...)}
	return g.call
}

func (g *graphFunc) call(ctx context.Context, e dataset.Element) (dataset.Element, error) {
	// Python captures more than a function takes if a value must live as long as it (OwnedMultiDeviceIterator).
	captured := g.captured[:max(0, min(len(g.captured), len(g.f.args)-len(e)))]
	r, err := g.frame(len(e) + len(captured))
	if err != nil {
		return nil, fmt.Errorf("function %q: %w", g.name, err)
	}
	args := make([]Value, 0, len(e)+len(captured))
	for _, v := range e {
		args = append(args, Value(v))
	}
	out := make([]Value, len(g.f.outs))
	before := g.env.mark()
	if err := r.call(ctx, g.env, append(args, captured...), out); err != nil {
		if errors.Is(err, ErrRange) || errors.Is(err, queue.ErrOutOfRange) {
			return nil, &rangeError{err}
		}
		return nil, err
	}
	g.env.drop(before, out)
	g.mu.Lock()
	g.free = append(g.free, r)
	g.mu.Unlock()
	return toElement(out), nil
}

// frame returns the memory of a finished call, or new memory.
func (g *graphFunc) frame(args int) (*frame, error) {
	g.mu.Lock()
	if n := len(g.free); n > 0 && len(g.f.args) == args {
		r := g.free[n-1]
		g.free = g.free[:n-1]
		g.mu.Unlock()
		return r, nil
	}
	g.mu.Unlock()
	return g.f.frame(args, len(g.f.outs))
}

// rangeError is an error of a function that says that there are no more elements.
type rangeError struct{ error }

// Is makes the error match dataset.ErrRange too.
func (*rangeError) Is(target error) bool { return target == dataset.ErrRange }

// Unwrap returns the cause.
func (e *rangeError) Unwrap() error { return e.error }
