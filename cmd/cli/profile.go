package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
)

// tracedStep is the step in profile.json, or the last one of a shorter run. By then buffers and caches are warm.
const tracedStep = 10

// opProfile is a hook that prints where the training time went, op by op, and
// writes the trace of one step. The first step initializes things that later ones
// reuse, and so does not count if there are others.
type opProfile struct {
	hooks.Base
	app  *app
	path string // of the trace

	chief   bool
	steps   int
	spent   time.Duration // in steps
	begun   time.Time
	last    time.Time // end of the previous step
	skipped map[string]hooks.NodeTime
	trace   *hooks.Trace // of the newest step that may be written
}

var (
	_ hooks.Hook        = (*opProfile)(nil)
	_ hooks.Prioritized = (*opProfile)(nil)
)

// newOpProfile returns a hook that prints to standard error and writes profile.json to dir.
func newOpProfile(a *app, dir string) *opProfile {
	return &opProfile{app: a, path: filepath.Join(dir, "profile.json")}
}

// Priority is between the writers and the saver: after log lines of the loop, before log lines of a last evaluation.
func (h *opProfile) Priority() int { return (hooks.PriorityWrite + hooks.PrioritySave) / 2 }

// Begin requests the times of nodes.
func (h *opProfile) Begin(s hooks.Setup) error {
	h.chief = s.IsChief()
	if p, ok := s.(hooks.NodeProfiler); ok {
		p.ProfileNodes()
	}
	return nil
}

// AfterCreateSession resets the counters.
func (h *opProfile) AfterCreateSession(context.Context, hooks.Run) error {
	h.steps, h.spent, h.skipped, h.trace, h.last = 0, 0, nil, nil, time.Now()
	return nil
}

// BeforeRun starts to time a step.
func (h *opProfile) BeforeRun(_ context.Context, r hooks.Run) error {
	if h.steps < tracedStep {
		h.trace = hooks.BeginTrace(r, h.last)
	}
	h.begun = time.Now()
	return nil
}

// AfterRun stops timing the step.
func (h *opProfile) AfterRun(_ context.Context, r hooks.Run) error {
	h.last = time.Now()
	h.spent += h.last.Sub(h.begun)
	if h.steps < tracedStep {
		h.trace.End(r)
	}
	h.steps++
	if h.steps == 2 {
		h.spent = h.last.Sub(h.begun)
	}
	if h.steps == 1 {
		h.skipped = map[string]hooks.NodeTime{}
		for _, n := range nodeTimes(r) {
			h.skipped[n.Node] = n
		}
	}
	return nil
}

// End prints the table and writes the trace.
func (h *opProfile) End(_ context.Context, r hooks.Run) error {
	if h.steps == 0 {
		return nil
	}
	if err := h.tell(nodeTimes(r)); err != nil || !h.chief {
		return err
	}
	return h.trace.WriteFile(h.path)
}

func nodeTimes(r hooks.Run) []hooks.NodeTime {
	if p, ok := r.(hooks.NodeProfiler); ok {
		return p.NodeTimes()
	}
	return nil
}

// opTime is the time of all nodes of one op.
type opTime struct {
	hooks.NodeTime
	nodes int
}

// tell prints the table after a line about the steps, or for programs one line for each op.
func (h *opProfile) tell(nodes []hooks.NodeTime) error {
	p := h.sums(nodes)
	if !h.app.logs.json {
		_, err := io.WriteString(h.app.stderr, p.String())
		return err
	}
	for _, o := range append(p.ops, p.all) {
		h.app.log.Info("profile", "steps", p.steps, "step_ms", p.stepMillis(), "op", o.Op, "nodes", o.nodes, "calls", o.Count, "total_ms", milliseconds(o.Total), "flops", o.Flops, "bytes", o.Bytes)
	}
	return nil
}

// opTimes is the profile of a training run.
type opTimes struct {
	steps int
	spent time.Duration // in steps
	ops   []opTime
	all   opTime
}

// sums sums up all steps without the first, if there are others.
func (h *opProfile) sums(nodes []hooks.NodeTime) opTimes {
	p := opTimes{steps: h.steps, spent: h.spent}
	skipped := h.skipped
	if p.steps > 1 {
		p.steps--
	} else {
		skipped = nil
	}
	p.ops, p.all = sumByOp(nodes, skipped)
	return p
}

func (p opTimes) stepMillis() float64 { return milliseconds(p.spent) / float64(p.steps) }

// String returns a line about the steps and the table of ops.
func (p opTimes) String() string {
	t := newTextTable("op", "nodes", "calls", "total ms", "share %", "ms/call", "GFLOP/s", "GB/s")
	t.right(1, 2, 3, 4, 5, 6, 7)
	for _, o := range append(p.ops, p.all) {
		t.add(o.Op, group(int64(o.nodes)), group(int64(o.Count)), fmt.Sprintf("%.3f", milliseconds(o.Total)),
			fmt.Sprintf("%.1f", 100*ratio(milliseconds(o.Total), milliseconds(p.all.Total))), fmt.Sprintf("%.4f", ratio(milliseconds(o.Total), float64(o.Count))),
			perSecond(o.Flops, o.Total), perSecond(o.Bytes, o.Total))
	}
	return fmt.Sprintf("profile: steps=%d ms/step=%.4f in_ops=%.4f\n", p.steps, p.stepMillis(), milliseconds(p.all.Total)/float64(p.steps)) + t.String()
}

// sumByOp sums up the nodes by op, the slowest first, and all of them, minus
// skipped. It leaves out nodes that only ran in skipped steps.
func sumByOp(nodes []hooks.NodeTime, skipped map[string]hooks.NodeTime) (ops []opTime, all opTime) {
	byOp := map[string]*opTime{}
	all.Op = "total"
	for _, n := range nodes {
		s := skipped[n.Node]
		if n.Count == s.Count {
			continue
		}
		if byOp[n.Op] == nil {
			byOp[n.Op] = &opTime{NodeTime: hooks.NodeTime{Op: n.Op}}
		}
		for _, o := range []*opTime{byOp[n.Op], &all} {
			o.nodes++
			o.Count += n.Count - s.Count
			o.Total += n.Total - s.Total
			o.Flops += n.Flops - s.Flops
			o.Bytes += n.Bytes - s.Bytes
		}
	}
	for _, o := range byOp {
		ops = append(ops, *o)
	}
	slices.SortFunc(ops, func(a, b opTime) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Op, b.Op)) })
	return ops, all
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// ratio is a/b; 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// perSecond is n in billions per second; empty if n or d is 0.
func perSecond(n int64, d time.Duration) string {
	if n == 0 || d <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", float64(n)/float64(d.Nanoseconds()))
}
