package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// settings are the flags of the command line.
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

// bench measures all cases on a GPU. The report lists what cannot be measured.
type bench struct {
	settings
	g     *gpu
	r     *report
	dir   string // of the peer's scripts
	until time.Time
}

// left is the remaining time, less a reserve to write the report.
func (b *bench) left() time.Duration { return time.Until(b.until) - 5*time.Second }

// run runs the command bench.
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
		if err := b.r.write(s.out); err != nil { // after each case, so that finished ones are kept
			return err
		}
	}
	b.r.print(os.Stdout)
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed", failed, len(ks))
	}
	return nil
}

// errTime reports that the time limit was reached.
var errTime = errors.New("no time was left")

// measure runs one case: it prepares and checks both sides, then alternates their blocks.
func (b *bench) measure(ctx context.Context, k *benchCase) (err error) {
	if b.left() < 20*time.Second {
		return errTime
	}
	t, err := newTraining(k, true)
	if err != nil {
		return err
	}
	c := &comparison{bench: b, k: k, t: t, losses: map[string][]float64{}, seconds: map[string][]float64{}, steps: map[string]int{}}
	defer func() { err = errors.Join(err, c.close()) }()
	c.prepare() // first, since the reference may take much memory
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
