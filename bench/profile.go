package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
)

// profiler is a hook that times a block of steps and their nodes.
type profiler struct {
	block
	before map[string]time.Duration
	ops    map[string]opTime
}

// opTime is the time of all nodes of one op in one step.
type opTime struct {
	op    string
	nodes int
	total time.Duration
}

// Begin requests the times of nodes.
func (p *profiler) Begin(s hooks.Setup) error {
	if n, ok := s.(hooks.NodeProfiler); ok {
		n.ProfileNodes()
	}
	return nil
}

// AfterRun counts steps, and leaves out the first ones.
func (p *profiler) AfterRun(ctx context.Context, r hooks.Run) error {
	if err := p.block.AfterRun(ctx, r); err != nil {
		return err
	}
	if p.done == checkedSteps {
		p.before = map[string]time.Duration{}
		for _, t := range nodeTimes(r) {
			p.before[t.Node] = t.Total
		}
		p.begun = time.Now()
	}
	return nil
}

// End sums up the nodes by op.
func (p *profiler) End(_ context.Context, r hooks.Run) error {
	p.ops = map[string]opTime{}
	for _, t := range nodeTimes(r) {
		o := p.ops[t.Op]
		p.ops[t.Op] = opTime{t.Op, o.nodes + 1, o.total + (t.Total-p.before[t.Node])/time.Duration(p.steps)}
	}
	return nil
}

func nodeTimes(r hooks.Run) []hooks.NodeTime {
	if n, ok := r.(hooks.NodeProfiler); ok {
		return n.NodeTimes()
	}
	return nil
}

// profileWorker prints how much time the steps of WORKLOAD, or of the inference case
// NETWORK/BATCH, spend in each op: worker profile WORKLOAD STEPS. It is run by hand.
func profileWorker(_ *link, args []string) error {
	name, _, inference := strings.Cut(args[0], "/")
	w, err := lookUp(name)
	if err != nil {
		return err
	}
	p := &profiler{block: block{steps: 20}}
	if len(args) > 1 {
		if _, err := fmt.Sscan(args[1], &p.steps); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "bench-profile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := w.give(context.Background(), filepath.Join(dir, name)); err != nil {
		return err
	}
	if inference {
		err = predictAll(dir, args[0], p)
	} else {
		err = train(context.Background(), w, filepath.Join(dir, name), p)
	}
	if err != nil {
		return err
	}
	p.print(os.Stdout)
	return nil
}

// predictAll predicts until the hook stops it.
func predictAll(dir, name string, h hooks.Hook) error {
	p, err := newPredictor(dir, name, estimator.WithHooks(h))
	if err != nil {
		return err
	}
	defer p.stop()
	for {
		if _, err, ok := p.next(); err != nil || !ok {
			return err
		}
	}
}

func (p *profiler) print(w io.Writer) {
	step := time.Duration(p.seconds / float64(p.steps) * 1e9)
	fmt.Fprintf(w, "%v per step, %d steps, %d threads, load %s\n", step.Round(time.Microsecond), p.steps, threads(), loadAverage())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "op\tnodes\ttime\tshare\t")
	rest := step
	ops := slices.SortedFunc(maps.Values(p.ops), func(a, b opTime) int { return cmp.Compare(b.total, a.total) })
	for _, o := range ops {
		rest -= o.total
		if share := 100 * o.total.Seconds() / step.Seconds(); share >= 0.5 {
			fmt.Fprintf(t, "%s\t%d\t%v\t%.1f %%\t\n", o.op, o.nodes, o.total.Round(time.Microsecond), share)
		}
	}
	fmt.Fprintf(t, "outside of nodes\t\t%v\t%.1f %%\t\n", rest.Round(time.Microsecond), 100*rest.Seconds()/step.Seconds())
	t.Flush()
}
