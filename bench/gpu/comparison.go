package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// comparison compares our training with the peer's modes on one case.
type comparison struct {
	*bench
	k       *benchCase
	t       *training
	ours    *session
	peer    *peer // nil: none
	kinds   []string
	losses  map[string][]float64 // of the first steps
	seconds map[string][]float64 // of a step, by block
	steps   map[string]int       // of each block
}

func (c *comparison) close() error {
	var errs []error
	if c.peer != nil {
		errs = append(errs, c.peer.stop())
	}
	if c.ours != nil {
		errs = append(errs, c.ours.close())
	}
	return errors.Join(errs...)
}

// prepare starts the peer and prepares its modes. Without a peer, only ours is measured.
func (c *comparison) prepare() {
	if !c.join() {
		return
	}
	if a, err := c.peer.ask(c.left(), "reference"); err == nil {
		c.losses["reference"] = a.Losses
	} else if c.missKind("reference", err); c.peer == nil && !c.join() {
		return
	}
	for _, kind := range c.k.Kinds {
		if len(c.kinds) > 0 && c.left() < 60*time.Second {
			c.r.miss(c.k.Name+", PyTorch "+kind, errTime)
			continue
		}
		c.ready(kind)
		if c.peer != nil {
			continue
		}
		// This mode has ended the process: prepare the earlier ones again in a new one.
		before := c.kinds
		c.kinds = nil
		if !c.join() {
			return
		}
		for _, k := range before {
			if c.ready(k); c.peer == nil {
				c.kinds = nil
				return
			}
		}
	}
}

// join starts the peer; it reports whether there is one.
func (c *comparison) join() bool {
	p, err := startPeer(context.Background(), c.python, c.dir, c.t)
	if err != nil {
		c.r.miss(c.k.Name, err)
		return false
	}
	c.peer, c.r.PyTorch = p, p.ready.Version
	if c.g.emulated || p.ready.GPU != "" {
		return true
	}
	c.r.miss(c.k.Name, errors.New("PyTorch sees no GPU"))
	c.lose()
	return false
}

// ready prepares a mode of the peer, or records why it cannot.
func (c *comparison) ready(kind string) {
	a, err := c.peer.ask(min(c.left(), 3*time.Minute), "prepare", kind)
	if err != nil {
		c.missKind(kind, err)
		return
	}
	c.kinds, c.losses[kind] = append(c.kinds, kind), a.Losses
}

// missKind records an error of a mode of the peer; the peer may have ended.
func (c *comparison) missKind(kind string, err error) {
	c.r.miss(c.k.Name+", PyTorch "+kind, err)
	if errors.Is(err, errEnded) {
		c.lose()
	}
}

// lose ends the peer.
func (c *comparison) lose() {
	if err := c.peer.stop(); err != nil {
		c.r.miss(c.k.Name, err)
	}
	c.peer = nil
}

// check compares the losses with the reference. A mode of the peer with other losses is not measured. Without a
// reference, ours is compared with the peer's first mode.
func (c *comparison) check() error {
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

// near compares losses; the tolerance is relative to the loss or 0.1, whichever is larger.
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

// rounds times alternating blocks: ours, theirs, ours, theirs. A first round warms up and finds the number of steps in a block.
func (c *comparison) rounds(ctx context.Context) error {
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

// time times a block and returns the seconds per step.
func (c *comparison) time(ctx context.Context, name string) (float64, error) {
	n := c.steps[name]
	if name == ours {
		took, err := c.g.timed(func() error { return c.ours.steps(ctx, n) })
		return took.Seconds() / float64(n), err
	}
	a, err := c.peer.ask(time.Minute, "run", n, name)
	return a.Seconds / float64(n), err
}

// report adds the rows of the case.
func (c *comparison) report() {
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
