package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// subject is a benchmark.
type subject struct {
	name  string
	title string
	unit  string // of the table: "ms", "us", "GFLOP/s", "s", "MB", "GB/s"
	// cases are measured one after the other by the same processes.
	cases []string
	// asked are further cases, measured only if the command line names them.
	asked []string
	// setup writes the workers' common files to dir, and returns the contenders.
	setup func(ctx context.Context, s settings, dir string) (field, error)
	// value converts a block to the table's unit; nil: time per step.
	value func(name string, steps int, r reply) float64
	// steps is the length of a block; 0: as many as fill the block time.
	steps int
	// threads overrides the command line if processes are pinned; nil: it does not.
	threads []int
	// startup subjects measure the time until a worker is ready.
	startup bool
}

// field is the contenders of a subject; the first is ours.
type field struct {
	contenders []contender
	reference  map[string][]float64 // by case, in float64
	check      *contender           // computes the reference if it is not given
	tolerance  float64
	missing    []string // why a peer is left out
}

// measure runs a subject with each number of threads.
func (s settings) measure(ctx context.Context, sub subject) (*result, error) {
	dir, err := os.MkdirTemp("", "bench-"+sub.name+"-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	f, err := sub.setup(ctx, s, dir)
	if err != nil {
		return nil, err
	}
	if s.oursOnly {
		f.contenders = f.contenders[:1]
	}
	r := newResult(s, sub)
	r.Missing = f.missing
	if err := f.readReference(ctx, r); err != nil {
		return nil, err
	}
	r.Checked = len(f.reference) > 0
	numbers := s.threads
	if sub.threads != nil {
		numbers = sub.threads
	}
	for _, threads := range numbers {
		for p := range s.processes {
			if err := s.process(ctx, job{sub, &f, r, threads, p}); err != nil {
				return nil, err
			}
		}
	}
	r.finish()
	return r, nil
}

// readReference gets the reference from its worker.
func (f *field) readReference(ctx context.Context, r *result) error {
	if f.check == nil {
		return nil
	}
	w, err := start(ctx, *f.check, 2)
	if err != nil {
		f.check = nil
		r.Missing = append(r.Missing, "no float64 reference: "+err.Error())
		return nil
	}
	f.reference = w.ready.Values
	return w.stop()
}

// job is one new process of each contender.
type job struct {
	subject
	*field
	r       *result
	threads int
	process int
}

// process starts all contenders, checks them, and alternates their blocks.
func (s settings) process(ctx context.Context, j job) error {
	if j.startup {
		return s.startups(ctx, j)
	}
	var ws []*child
	defer func() {
		for _, w := range ws {
			_ = w.stop()
		}
	}()
	for _, c := range j.contenders {
		if c.threads != 0 && c.threads != j.threads {
			continue
		}
		w, err := start(ctx, c, j.threads)
		if err != nil && c.name == ours {
			return err
		}
		if err != nil {
			j.r.miss(err.Error())
			continue
		}
		w.cpu = s.cpu
		ws = append(ws, w)
		if err := j.correct(w); err != nil && c.name == ours {
			return err
		} else if err != nil {
			j.r.miss(err.Error() + ": not measured")
			ws = ws[:len(ws)-1]
			_ = w.stop()
			continue
		}
		j.r.Versions[c.name] = w.ready.Version
	}
	for _, name := range j.cases {
		in := slices.DeleteFunc(slices.Clone(ws), func(w *child) bool { return !w.runs(name) })
		if err := s.alternate(ctx, j, name, in); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// alternate alternates the contenders' blocks of one case.
func (s settings) alternate(ctx context.Context, j job, name string, ws []*child) error {
	steps := make([]int, len(ws))
	for i, w := range ws {
		var err error
		if steps[i], err = s.calibrate(j.subject, name, w); err != nil {
			return err
		}
	}
	for range s.rounds {
		for i, w := range ws {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			pause(ctx, s.pause)
			r, err := w.run(steps[i], name)
			if err != nil {
				return err
			}
			j.r.add(sample{key{name, j.threads, w.name}, j.process, j.measured(name, steps[i], r), r.Allocs, r.More})
		}
	}
	return nil
}

// measured converts a block to the subject's unit.
func (sub subject) measured(name string, steps int, r reply) float64 {
	if sub.value != nil {
		return sub.value(name, steps, r)
	}
	return r.Seconds / float64(steps) * perSecond[sub.unit]
}

var perSecond = map[string]float64{"s": 1, "ms": 1e3, "us": 1e6}

// calibrate warms up a worker and finds the number of steps that fill a block.
func (s settings) calibrate(sub subject, name string, w *child) (int, error) {
	if sub.steps > 0 {
		return sub.steps, nil
	}
	for n := 1; ; {
		r, err := w.run(n, name)
		if err != nil {
			return 0, err
		}
		if d := s.block.Seconds(); r.Seconds > d/8 || n > 1<<24 {
			if n == 1 { // the first step is not representative
				if r, err = w.run(n, name); err != nil {
					return 0, err
				}
			}
			return max(1, int(d/r.Seconds*float64(n))), nil
		}
		n *= 4
	}
}

// correct compares a worker's values with the reference.
func (j job) correct(w *child) error {
	tolerance := j.tolerance
	if w.tolerance != 0 {
		tolerance = w.tolerance
	}
	for name, want := range j.reference {
		if !w.runs(name) {
			continue
		}
		got, ok := w.ready.Values[name]
		if !ok || len(got) < len(want) {
			return fmt.Errorf("%s: case %q: expected %d values to check, got %d", w.name, name, len(want), len(got))
		}
		for i := range want {
			if d := math.Abs(got[i] - want[i]); !(d <= tolerance*max(1, math.Abs(want[i]))) {
				return fmt.Errorf("%s: case %q: value %d is %.7g, the float64 reference %.7g: expected a difference of %g at most",
					w.name, name, i, got[i], want[i], tolerance)
			}
		}
	}
	return nil
}

// startups measures the time until each contender is ready, in turn.
func (s settings) startups(ctx context.Context, j job) error {
	for range s.rounds {
		for _, c := range j.contenders {
			pause(ctx, s.pause)
			w, err := start(ctx, c, j.threads)
			if err != nil && c.name == ours {
				return err
			}
			if err != nil {
				j.r.miss(err.Error())
				continue
			}
			j.r.Versions[c.name] = w.ready.Version
			j.r.add(sample{key{j.cases[0], j.threads, c.name}, j.process, w.startup.Seconds(), 0, nil})
			if err := w.stop(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
