package distribute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/tensor"
)

// replicatedStepper makes steps of several replicas.
type replicatedStepper struct {
	strategy *replicated
	train    TrainProgram
	layout   *layout
	replicas []*replica
	stay     bool           // the replicas' dense results, except the loss, stay on their GPUs
	updates  []*application // one per copy; none with a step function
	function *stepFunction  // nil: gradients
	sums     *sums
	gpus     *gpuMean // nil: dense results come to the host
	loss     int      // fetch that is the loss, -1 for none
	feeds    []*tensor.Tensor
}

func (s *replicatedStepper) compile() error {
	r, p := s.strategy, s.train
	if r.workers != nil {
		s.stay = r.workers.expected(s)
	} else {
		s.stay = len(s.ownGPUs()) > 1
	}
	if err := s.compileReplicas(); err != nil {
		return err
	}
	if p.Train.Step != nil {
		var err error
		s.function, err = newStepFunction(p.Train.Step, s.layout.args, r)
		return err
	}
	for i, vars := range r.copies {
		a, err := compileApplication(p, s.layout, target{dev: r.devices[i], vars: vars, hard: r.config.HardPlacement, scaled: r.factor != nil})
		if err != nil {
			return err
		}
		s.updates = append(s.updates, a)
		reached := *p.Train
		reached.Unreached = nil // reported once
		p.Train = &reached
	}
	if r.workers != nil {
		return r.workers.adopt(s)
	}
	if !s.stay {
		return nil
	}
	g, err := newGPUMean(s)
	if err != nil {
		return err
	}
	return s.use(g)
}

// compileReplicas compiles the gradient program of each replica.
func (s *replicatedStepper) compileReplicas() error {
	r, p := s.strategy, s.train
	first := int64(r.peers.rank() * r.replicas)
	for i := range r.replicas {
		at, elsewhere := r.owner(i)
		opts := r.config.options()
		opts.Updated = true
		o := replicaOptions{number: first + int64(i), options: opts, variables: r.copies[at], elsewhere: elsewhere}
		if r.replicas == 1 && !s.stay {
			o.ready = func(i int) { s.ready(i) }
		}
		rep, err := compileReplica(p, s.layout, r.compute[i], o)
		if err != nil {
			return err
		}
		s.replicas = append(s.replicas, rep)
		if s.stay {
			if err := rep.program.Leave(s.layout.dense[:len(s.layout.dense)-1]...); err != nil {
				return err
			}
		}
		p.Profile = false // only the first one profiles
	}
	return nil
}

// use makes g compute the means of dense results from now on; nil: the host.
func (s *replicatedStepper) use(g *gpuMean) error {
	errs := []error{s.closeMean()}
	s.gpus, s.sums.stay = g, 0
	if g != nil {
		s.sums.stay = len(s.sums.dense) - 1
	}
	if s.stay != (g != nil) {
		s.stay = g != nil
		errs = append(errs, s.closeReplicas(), s.compileReplicas())
	}
	return errors.Join(errs...)
}

// ready receives a dense result while the only replica is still computing.
func (s *replicatedStepper) ready(i int) {
	s.sums.set(i, s.replicas[0].dense(i))
	s.strategy.peers.ready(i)
}

// Step computes, reduces and applies.
func (s *replicatedStepper) Step(ctx context.Context, in Step) (Outcome, error) {
	if len(in.Batches) > len(s.replicas) {
		return Outcome{}, fmt.Errorf("step: expected at most %d batches, got %d", len(s.replicas), len(in.Batches))
	}
	began := in.began()
	s.sums.begin(in)
	s.sums.secs()[s.strategy.peers.rank()] = s.strategy.pace.secs()
	if s.function != nil {
		if err := s.function.load(); err != nil {
			return Outcome{}, s.strategy.peers.abort(err)
		}
	}
	if err := s.strategy.peers.begin(ctx, s.sums, in); err != nil {
		return Outcome{}, err
	}
	if err := s.compute(ctx, in.Batches); err != nil {
		return Outcome{}, s.strategy.peers.abort(err)
	}
	computed := time.Now()
	if err := s.strategy.peers.wait(ctx, s.sums); err != nil {
		return Outcome{}, err
	}
	waited := time.Since(computed)
	out := Outcome{Stop: s.sums.stop(), Applied: s.sums.replicas() > 0}
	var err error
	if out.Applied {
		out.GlobalStep, err = s.apply(ctx)
	} else {
		out.GlobalStep, err = s.strategy.globalStep()
	}
	if len(in.Batches) > 0 {
		s.strategy.pace.add(time.Since(began) - waited)
	}
	return out, err
}

// compute runs the replicas in parallel and sums their results in order.
func (s *replicatedStepper) compute(ctx context.Context, batches []Batch) error {
	if err := s.runAll(ctx, batches); err != nil {
		return err
	}
	if s.gpus != nil {
		return s.gpus.collect(s, batches)
	}
	if len(s.replicas) == 1 && len(batches) == 1 { // ready has taken the dense results
		return s.sums.join(s.replicas[0], 0, batches[0].Rows)
	}
	for i, b := range batches {
		if i == 0 {
			for j := range s.sums.dense {
				s.sums.set(j, s.replicas[0].dense(j))
			}
		} else {
			s.sums.add(s.replicas[i], i)
		}
		if err := s.sums.join(s.replicas[i], i, b.Rows); err != nil {
			return err
		}
	}
	for i := range s.sums.dense {
		s.strategy.peers.ready(i)
	}
	return nil
}

// runAll runs the replicas on their batches, in parallel.
func (s *replicatedStepper) runAll(ctx context.Context, batches []Batch) error {
	return together(len(batches), s.strategy.config.InterOp, func(i int) error { return s.run(ctx, i, batches[i]) })
}

// run runs a replica on its batch.
func (s *replicatedStepper) run(ctx context.Context, i int, b Batch) error {
	if err := s.replicas[i].run(ctx, b); err != nil || s.function == nil {
		return err
	}
	return s.function.collect(i, s.replicas[i].program.Value)
}

// apply updates every copy of the variables by the means.
func (s *replicatedStepper) apply(ctx context.Context) (step int64, err error) {
	if s.gpus != nil {
		return s.gpus.apply(ctx, s)
	}
	s.sums.mean()
	if s.function != nil {
		return s.function.apply(ctx)
	}
	rows := s.sums.batch()
	s.feeds = s.sums.feeds(s.feeds, rows)
	if factor := s.strategy.factor; factor != nil {
		s.feeds = append(s.feeds, tensor.Scalar(factor()))
	}
	for _, u := range s.updates {
		if step, err = u.run(ctx, rows, s.feeds); err != nil {
			return 0, err
		}
	}
	return step, nil
}

// globalStep reads the step.
func (r *replicated) globalStep() (int64, error) {
	t, err := r.copies[0].Get(GlobalStep)
	if err != nil {
		return 0, err
	}
	return tensor.Values[int64](t)[0], nil
}

// Value returns a fetch of the first replica, or the mean loss.
func (s *replicatedStepper) Value(i int) *tensor.Tensor {
	if i == s.loss {
		return s.sums.loss()
	}
	return s.replicas[0].program.Value(i)
}

// replicaValue returns a fetch of a replica; for the loss, the replica's own.
func (s *replicatedStepper) replicaValue(replica, i int) *tensor.Tensor {
	return s.replicas[replica].program.Value(i)
}

// LearningRate returns the rate of the last step.
func (s *replicatedStepper) LearningRate() float64 {
	if s.function != nil {
		return 0
	}
	return s.updates[0].learningRate()
}

// Placement returns where the first replica's program runs.
func (s *replicatedStepper) Placement() Placement { return s.replicas[0].placement() }

// Profile returns the times of the first replica, and of its update.
func (s *replicatedStepper) Profile() []NodeTime { return s.replicas[0].program.Profile() }

// Close frees the programs.
func (s *replicatedStepper) Close() error {
	errs := []error{s.closeMean(), s.closeReplicas()}
	for _, u := range s.updates {
		errs = append(errs, u.program.Close())
	}
	return errors.Join(errs...)
}

// closeMean waits until the replicas' results are copied.
func (s *replicatedStepper) closeMean() error {
	if s.gpus == nil {
		return nil
	}
	g := s.gpus
	s.gpus = nil
	return g.close()
}

func (s *replicatedStepper) closeReplicas() error {
	var errs []error
	for _, r := range s.replicas {
		errs = append(errs, r.close())
	}
	s.replicas = nil
	return errors.Join(errs...)
}
