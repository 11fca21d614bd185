package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// workerCopies has the variables that the programs of a parameter_server worker read whole: a copy on each of its GPUs, or
// one for all replicas.
type workerCopies []*engine.Variables

// newWorkerCopies returns copies for replicas on some devices.
func newWorkerCopies(devs []device.Device) (workerCopies, error) {
	if !accelerates(devs[0]) || oneGPU(devs) {
		devs = devs[:1]
	}
	var w workerCopies
	for _, dev := range devs {
		vars, err := engine.NewVariables(dev)
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w = append(w, vars)
	}
	return w, nil
}

// of returns the copies that replica i reads.
func (w workerCopies) of(i int) *engine.Variables { return w[min(i, len(w)-1)] }

// has reports whether there is a copy of that name.
func (w workerCopies) has(name string) bool {
	_, ok := w[0].Type(name)
	return ok
}

// each calls do for all copies.
func (w workerCopies) each(do func(*engine.Variables) error) error {
	var errs []error
	for _, vars := range w {
		errs = append(errs, do(vars))
	}
	return errors.Join(errs...)
}

// Close frees the copies.
func (w workerCopies) Close() error { return w.each((*engine.Variables).Close) }

// workerPrograms computes what a worker pushes: the result of a batch on each device, and then the mean.
type workerPrograms struct {
	replicas []*replica
	layout   *layout
	sums     *sums                         // of the replicas of a step
	used     int                           // replicas that had a batch
	at       map[int]func() *tensor.Tensor // means by fetch
	limit    int                           // on replicas that compute at the same time; 0: none
}

// newWorkerPrograms compiles the gradient program for each device.
func newWorkerPrograms(p *parameterServer, t TrainProgram, l *layout, spec engine.Spec) (*workerPrograms, error) {
	w := &workerPrograms{layout: l, sums: newSums(l, 1, 0), at: map[int]func() *tensor.Tensor{}, limit: p.config.InterOp}
	opts := p.config.options()
	opts.Profile, opts.Updated = t.Profile, true
	for i, dev := range p.devs {
		program, err := engine.Compile(t.Graph, spec, dev, p.copies.of(i), opts)
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.replicas = append(w.replicas, &replica{program: program, layout: l, dev: dev, number: int64(p.job.rank*len(p.devs) + i)})
		opts.Profile = false // only the first one profiles
	}
	for i, fetch := range l.dense {
		w.at[fetch] = func() *tensor.Tensor { return w.sums.dense[i] }
	}
	for i, pair := range l.sparse {
		w.at[pair.rows] = func() *tensor.Tensor { return w.sums.sparse[i].rows }
		w.at[pair.ids] = func() *tensor.Tensor { return w.sums.sparse[i].ids }
	}
	for i, f := range t.Fetches {
		if f == t.Loss {
			w.at[i] = w.sums.loss
		}
	}
	return w, nil
}

// run computes a step at a global step, whose upper bits get the number of the replica. The feeds of each batch are followed
// by the rows that it looks up.
func (w *workerPrograms) run(ctx context.Context, batches []Batch, step int64, rows workerLookups) error {
	w.used = len(batches)
	err := together(len(batches), w.limit, func(i int) error {
		r, b := w.replicas[i], batches[i]
		r.feeds = append(append(append(r.feeds[:0], b.Feeds...), tensor.Scalar(step|r.number<<40)), rows[i].rows...)
		if err := r.program.Run(ctx, b.Rows, r.feeds); err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
		return nil
	})
	if err != nil || len(batches) == 1 {
		return err
	}
	return w.mean(batches)
}

// mean computes the mean over the replicas.
func (w *workerPrograms) mean(batches []Batch) error {
	w.sums.begin(Step{Batches: batches})
	for i, b := range batches {
		r := w.replicas[i]
		if i == 0 {
			for j := range w.sums.dense {
				w.sums.set(j, r.dense(j))
			}
		} else {
			w.sums.add(r, i)
		}
		if err := w.sums.join(r, i, b.Rows); err != nil {
			return err
		}
	}
	w.sums.mean()
	return nil
}

// Value returns a fetch of the last step: the mean, for the loss and what is pushed, else the first replica's value.
func (w *workerPrograms) Value(i int) *tensor.Tensor {
	if at := w.at[i]; at != nil && w.used > 1 {
		return at()
	}
	return w.replicas[0].program.Value(i)
}

// deciding returns the fetches of the replica whose loss scale counts: the first one with non-finite gradients, or else the first.
func (w *workerPrograms) deciding(s *lossScale) func(int) *tensor.Tensor {
	for _, r := range w.replicas[:w.used] {
		if !s.finite(r.program.Value) {
			return r.program.Value
		}
	}
	return w.replicas[0].program.Value
}

func (w *workerPrograms) close() error {
	var errs []error
	for _, r := range w.replicas {
		errs = append(errs, r.program.Close())
	}
	return errors.Join(errs...)
}

// workerLookups are the lookups of a step's batches.
type workerLookups []*lookups

func newWorkerLookups(t Program, list []lookup, replicas int) (workerLookups, error) {
	var w workerLookups
	for range replicas {
		l, err := newLookups(t, list)
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w = append(w, l)
	}
	return w, nil
}

func (w workerLookups) list() []lookup { return w[0].list }

func (w workerLookups) fed(other *graph.Node) map[*graph.Node]bool { return w[0].fed(other) }

func (w workerLookups) close() error {
	var errs []error
	for _, l := range w {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}
