package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Check says how Load finds out whether a model can answer requests.
type Check struct {
	Off    bool          // only look for missing ops
	Time   time.Duration // for all dry runs, but at least an equal share for each signature if others took it all; 0: 10 s
	Memory int64         // the maximum number of bytes that a dry run may hold; 0: 1 GiB
	// Feeds returns known valid values for signatures, which are tried before made-up ones; nil: none are known.
	Feeds func(sigs map[string]*pb.SignatureDef) map[string][]map[string]*tensor.Tensor
	// Failed, if not nil, gets the error of a signature's dry run. If nothing is missing, the error may come from made-up values that the
	// model does not take; ErrUnchecked says that there was no time to find out.
	Failed func(signature string, err error)
}

// The defaults of Check.
const (
	checkTime   = 10 * time.Second
	checkMemory = 1 << 30
)

func (c *Check) setDefaults() {
	if c.Time <= 0 {
		c.Time = checkTime
	}
	if c.Memory <= 0 {
		c.Memory = checkMemory
	}
	if c.Feeds == nil {
		c.Feeds = func(map[string]*pb.SignatureDef) map[string][]map[string]*tensor.Tensor { return nil }
	}
	if c.Failed == nil {
		c.Failed = func(string, error) {}
	}
}

// ErrUnchecked says that a dry run did not end in time, so it is not known whether the signature can answer.
var ErrUnchecked = errors.New("the dry run did not end")

// dryRun runs each signature once on made-up values, and fails if something turns out to be missing. It does not change variables,
// tables or states of random numbers. plans has the signatures' plans, in the order of their names.
func (s *Session) dryRun(ctx context.Context, plans []*plan, inner []function) error {
	check := s.options.Check
	if check.Off {
		return nil
	}
	memory := budget.NewServer(budget.Limits{Server: check.Memory, Request: check.Memory})
	defer memory.Close()
	defer s.memory.Store(nil)
	var refused []error
	known, began := check.Feeds(s.sigs), time.Now()
	for i, key := range slices.Sorted(maps.Keys(s.sigs)) {
		t := trial{s: s, p: plans[i], memory: memory, known: known[key], time: check.share(len(plans), time.Since(began))}
		err := t.do(ctx, inner)
		if errors.Is(err, eager.ErrUnsupported) || errors.Is(err, errPlacement) {
			refused = append(refused, fmt.Errorf("signature %q: %w", key, err))
		}
		if err != nil {
			check.Failed(key, err)
		}
	}
	return errors.Join(refused...)
}

// share returns the time for one of n dry runs after others have taken some: what they left, but at least an equal share, so that
// slow ones do not keep others from being checked.
func (c *Check) share(n int, taken time.Duration) time.Duration {
	return max(c.Time-taken, c.Time/time.Duration(n))
}

// trial is the dry run of one signature.
type trial struct {
	s      *Session
	p      *plan // the signature's plan, or a copy of it
	copied bool
	memory *budget.Server
	known  []map[string]*tensor.Tensor // values that the model accepts
	time   time.Duration
}

// do makes the dry run, and leaves nothing behind. Its error wraps eager.ErrUnsupported or errPlacement if something is missing.
func (t *trial) do(ctx context.Context, inner []function) error {
	defer t.close()
	err := t.isolate(inner)
	if err == nil {
		ctx, stop := context.WithTimeout(ctx, t.time)
		defer stop()
		err = t.run(ctx)
	}
	if err != nil && !errors.Is(err, eager.ErrUnsupported) && !errors.Is(err, errPlacement) {
		err = cmp.Or(t.undecided(err), err)
	}
	return err
}

// isolate makes sure that the run leaves nothing behind: if it updates variables or tables, or draws random numbers, it works on a copy.
// So does a run with inputs of unknown sizes, whose programs may never be needed again.
func (t *trial) isolate(inner []function) (err error) {
	drawing := slices.ContainsFunc(inner, func(f function) bool { return drawsAny(f.graph.Nodes()) })
	updates := t.p.eagerly || drawsAny(t.p.nodes) || drawing
	if !updates && t.p.allSized() {
		return nil
	}
	copied := *t.s.env
	if updates {
		copied.Resources = copied.Resources.Fork()
		if drawing {
			if copied.Functions, err = makeFunctions(inner); err != nil {
				return err
			}
		}
	}
	p, err := t.s.newPlan(t.p.names())
	if err != nil {
		return err
	}
	p.env = &copied
	t.p, t.copied = p, true
	return nil
}

func drawsAny(nodes []*graph.Node) bool {
	return slices.ContainsFunc(nodes, func(n *graph.Node) bool { return draws(n.Op) })
}

// close closes the plan if it is a copy.
func (t *trial) close() {
	if t.copied {
		t.p.close()
	}
}

// undecided is the error of a run that failed before it was clear whether programs support its doubtful nodes; nil if it has none.
func (t *trial) undecided(cause error) error {
	missing := gaps{}
	for _, n := range t.p.nodes {
		if err := t.s.doubtful[n]; err != nil && !t.decided(n) {
			missing.add(n, n.Name, err)
		}
	}
	return missing.err(cause)
}

// decided reports whether a node is part of a program, or of no stage.
func (t *trial) decided(n *graph.Node) bool {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	for _, v := range t.p.variants {
		if !v.awaits(n) {
			return true
		}
	}
	return false
}

// awaits reports whether a node is in a stage that has no program yet.
func (v *variant) awaits(n *graph.Node) bool {
	for _, s := range v.stages {
		c, ok := s.(*compiledStage)
		if ok && slices.ContainsFunc(c.nodes, func(i int) bool { return v.p.nodes[i] == n }) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.specials) == 0
		}
	}
	return false
}

// feeds makes values to try; the account pays for them.
type feeds func(a *budget.Account) (map[string]*tensor.Tensor, error)

// feeds returns the values to try: known ones, then guesses.
func (t *trial) feeds() iter.Seq[feeds] {
	return func(yield func(feeds) bool) {
		for _, f := range t.known {
			if !yield(func(*budget.Account) (map[string]*tensor.Tensor, error) { return f, nil }) {
				return
			}
		}
		for g := range t.p.guesses() {
			if !yield(func(a *budget.Account) (map[string]*tensor.Tensor, error) { return g.feeds(t.p, a) }) {
				return
			}
		}
	}
}

// run tries values until the model accepts some, or something is missing. Otherwise it returns the first error.
func (t *trial) run(ctx context.Context) (first error) {
	for f := range t.feeds() {
		err := t.once(ctx, f)
		switch {
		case err == nil, errors.Is(err, eager.ErrUnsupported), errors.Is(err, errPlacement):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("%w within %v: %w", ErrUnchecked, t.time.Round(time.Millisecond), err)
		case first == nil:
			first = err
		}
	}
	return first
}

// once makes one run.
func (t *trial) once(ctx context.Context, f feeds) (err error) {
	defer recovered(&err)
	a := t.memory.Open()
	defer a.Close()
	values, err := f(a)
	if err != nil {
		return err
	}
	_, err = t.p.run(budget.With(ctx, a), values)
	return err
}
