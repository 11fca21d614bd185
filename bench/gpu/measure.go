package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// settings are what the command line says.
type settings struct {
	emulated bool
	names    string // of cases
	rounds   int
	block    time.Duration
	limit    time.Duration
	python   string
	out      string
}

const (
	checkedSteps = 3
	ours         = "goestimator"
)

// bench measures all cases on a GPU. What cannot be measured is named in the report.
type bench struct {
	settings
	g     *gpu
	r     *report
	dir   string // of the peer's scripts
	until time.Time
}

// left is the time for the rest, without what it takes to write the report.
func (b *bench) left() time.Duration { return time.Until(b.until) - 5*time.Second }

// run is the command bench.
func (s settings) run(ctx context.Context) (err error) {
	ks, err := chosen(s.names)
	if err != nil {
		return err
	}
	begun := time.Now()
	ctx, cancel := context.WithDeadline(ctx, begun.Add(s.limit))
	defer cancel()
	g, err := openGPU(ctx, s.emulated)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	b := &bench{settings: s, g: g, until: begun.Add(s.limit), r: &report{Time: begun.UTC().Format(time.RFC3339), GPU: g.name, Emulated: g.emulated}}
	if b.dir, err = os.MkdirTemp("", "bench-gpu-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := writePeer(b.dir); err != nil {
		return err
	}
	if b.r.Ceilings, err = ceilings(g); err != nil {
		return err
	}
	failed := 0
	for _, k := range ks {
		if g.emulated {
			k = k.tiny()
		}
		fmt.Printf("%s ...\n", k.Name)
		if err := b.measure(ctx, &k); err != nil {
			failed++
			b.r.miss(k.Name, err)
		}
		if err := b.r.write(s.out); err != nil { // after each: what is done is kept, whatever comes
			return err
		}
	}
	b.r.print(os.Stdout)
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed", failed, len(ks))
	}
	return nil
}

// errTime tells that the limit left no time.
var errTime = errors.New("no time was left")

// measure is one case: both sides are made ready and checked, then their blocks alternate.
func (b *bench) measure(ctx context.Context, k *kase) (err error) {
	if b.left() < 20*time.Second {
		return errTime
	}
	t, err := newTraining(k, true)
	if err != nil {
		return err
	}
	c := &contest{bench: b, k: k, t: t, losses: map[string][]float64{}, seconds: map[string][]float64{}, steps: map[string]int{}}
	defer func() { err = errors.Join(err, c.close()) }()
	c.prepare() // first: the reference may take much memory
	if c.ours, err = t.start(b.g, k.precision(), nil); err != nil {
		return err
	}
	if c.losses[ours], err = c.ours.losses(ctx, checkedSteps); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if err := c.rounds(ctx); err != nil {
		return err
	}
	c.report()
	return nil
}

// contest is ours and the peer's ways of one case.
type contest struct {
	*bench
	k       *kase
	t       *training
	ours    *session
	peer    *peer // nil: none
	kinds   []string
	losses  map[string][]float64 // of the first steps
	seconds map[string][]float64 // of a step, by block
	steps   map[string]int       // in a block
}

func (c *contest) close() error {
	var errs []error
	if c.peer != nil {
		errs = append(errs, c.peer.stop())
	}
	if c.ours != nil {
		errs = append(errs, c.ours.close())
	}
	return errors.Join(errs...)
}

// prepare starts the peer. Without one ours is measured alone.
func (c *contest) prepare() {
	p, err := startPeer(context.Background(), c.python, c.dir, c.t)
	if err != nil {
		c.r.miss(c.k.Name, err)
		return
	}
	c.peer, c.r.PyTorch = p, p.ready.Version
	if !c.g.emulated && p.ready.GPU == "" {
		c.r.miss(c.k.Name, errors.New("PyTorch sees no GPU"))
		c.lose()
		return
	}
	if a, err := p.ask(c.left(), "reference"); err == nil {
		c.losses["reference"] = a.Losses
	} else if !c.survives("reference", err) {
		return
	}
	for _, kind := range c.k.Kinds {
		if len(c.kinds) > 0 && c.left() < 60*time.Second {
			c.r.miss(c.k.Name+", PyTorch "+kind, errTime)
			continue
		}
		a, err := p.ask(min(c.left(), 3*time.Minute), "prepare", kind)
		if err == nil {
			c.kinds, c.losses[kind] = append(c.kinds, kind), a.Losses
			continue
		}
		if !c.survives(kind, err) {
			return
		}
	}
}

// survives notes an error of the peer, and reports whether it can go on.
func (c *contest) survives(kind string, err error) bool {
	c.r.miss(c.k.Name+", PyTorch "+kind, err)
	if !errors.Is(err, errEnded) {
		return true
	}
	c.lose()
	return false
}

// lose goes on without a peer.
func (c *contest) lose() {
	if err := c.peer.stop(); err != nil {
		c.r.miss(c.k.Name, err)
	}
	c.peer, c.kinds = nil, nil
}

// check compares the losses with the reference. A peer's way that computes something else is not measured; where there is
// no reference, ours is compared with the peer's first way.
func (c *contest) check() error {
	right, name := c.losses["reference"], "the reference"
	if right == nil && len(c.kinds) > 0 {
		right, name = c.losses[c.kinds[0]], c.kinds[0]
	}
	if right == nil {
		if why := finite(c.losses[ours]); why != nil {
			return why
		}
		c.r.miss(c.k.Name, errors.New("nothing to compare the losses with"))
		return nil
	}
	for _, kind := range slices.Clone(c.kinds) {
		if err := near(right, c.losses[kind], c.k.Tolerance); err != nil {
			c.r.miss(c.k.Name+", PyTorch "+kind, fmt.Errorf("not measured: losses against %s: %w", name, err))
			c.kinds = slices.DeleteFunc(c.kinds, func(k string) bool { return k == kind })
		}
	}
	if err := near(right, c.losses[ours], c.k.Tolerance); err != nil {
		return fmt.Errorf("losses against %s: %w", name, err)
	}
	return nil
}

// near compares losses; the tolerance is relative to the larger of the loss and 0.1.
func near(want, got []float64, tolerance float64) error {
	for i, w := range want {
		if d := math.Abs(got[i] - w); !(d <= tolerance*max(w, 0.1)) {
			return fmt.Errorf("step %d: expected %.6g within %g, got %.6g", i+1, w, tolerance, got[i])
		}
	}
	return nil
}

func finite(losses []float64) error {
	for i, l := range losses {
		if math.IsNaN(l) || math.IsInf(l, 0) {
			return fmt.Errorf("loss of step %d is %g", i+1, l)
		}
	}
	return nil
}

// rounds times blocks in turn: ours, theirs, ours, theirs. The first round finds how many steps make a block, and warms up.
func (c *contest) rounds(ctx context.Context) error {
	all := append([]string{ours}, c.kinds...)
	for _, name := range all {
		c.steps[name] = 3
		for range 2 { // the first block captures graphs
			took, err := c.time(ctx, name)
			if err != nil {
				return err
			}
			c.steps[name] = max(3, min(20000, int(c.block.Seconds()/max(took, 1e-7))))
			if c.g.emulated {
				c.steps[name] = 1
			}
		}
	}
	for r := range c.settings.rounds {
		if r > 2 && c.left() < 0 {
			break
		}
		for _, name := range all {
			took, err := c.time(ctx, name)
			if err != nil {
				return err
			}
			c.seconds[name] = append(c.seconds[name], took)
		}
	}
	return nil
}

// time is the seconds of a step, over a block.
func (c *contest) time(ctx context.Context, name string) (float64, error) {
	n := c.steps[name]
	if name == ours {
		took, err := c.g.timed(func() error { return c.ours.steps(ctx, n) })
		return took.Seconds() / float64(n), err
	}
	a, err := c.peer.ask(time.Minute, "run", n, name)
	return a.Seconds / float64(n), err
}

// report adds the rows of the case.
func (c *contest) report() {
	flops, bytes := c.t.cost()
	for _, name := range append([]string{ours}, c.kinds...) {
		s := slices.Sorted(slices.Values(c.seconds[name]))
		if len(s) == 0 {
			continue
		}
		m := (s[(len(s)-1)/2] + s[len(s)/2]) / 2
		w := row{Case: c.k.Name, Batch: c.k.Batch, Precision: c.k.Precision, Contender: name, Milliseconds: m * 1e3, Best: s[0] * 1e3, Worst: s[len(s)-1] * 1e3,
			Blocks: len(s), Steps: c.steps[name], Examples: float64(c.k.Batch) / m, TFLOPS: float64(flops) / m / 1e12, GBs: float64(bytes) / m / 1e9,
			Losses: c.losses[name], Reference: c.losses["reference"]}
		if name == ours {
			w.HostSteps = c.ours.p.HostSteps()
		}
		c.r.Rows = append(c.r.Rows, w)
	}
}
