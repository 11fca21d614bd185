package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// multiWorker is multi_worker_mirrored: every worker has a copy of the variables, and all
// make each step together and reduce gradients in a ring.
type multiWorker struct {
	*replicated
	job        *Job
	ring       *ring
	generation int64
	settings   []byte         // what the workers compare, in encoded form
	members    []cluster.Task // of the current ring, by their ranks in it
	elastic    *elastic       // nil: all workers are members
	functions  int            // programs that were planned
}

var (
	_ Shared   = (*multiWorker)(nil)
	_ Gatherer = (*multiWorker)(nil)
	_ Planner  = (*multiWorker)(nil)
	_ Paced    = (*multiWorker)(nil)
	_ Elastic  = (*multiWorker)(nil)
)

// newMultiWorker returns multi_worker_mirrored, whose workers have a replica on each of their GPUs. In a single process
// it is mirrored.
func newMultiWorker(c Config) (Strategy, error) {
	if c.Job == nil || len(c.Job.workers) < 2 {
		return newMirrored(c)
	}
	devs, err := c.openEach()
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", c.Name, err)
	}
	r, err := newReplicated(c, devs, devs)
	if err != nil {
		return nil, err
	}
	m := &multiWorker{replicated: r, job: c.Job, ring: &ring{job: c.Job}, members: c.Job.workers}
	if c.Job.elastic() {
		m.elastic = &elastic{config: c.Elastic, job: c.Job, state: state{Step: -1}}
		m.elastic.hearing.job = c.Job
		m.ring.elastic = m.elastic
		if c.Successor != nil {
			m.elastic.tend(c.Successor)
		}
		if c.Elastic.ScaleLR == runconfig.ScaleLinear {
			r.factor = m.elastic.rateFactor
		}
	}
	r.peers, r.workers = m.ring, newWorkerGPUs(c, devs)
	return m, nil
}

// Replicas are the same number in every worker.
func (m *multiWorker) Replicas() Replicas {
	return Replicas{InSync: len(m.job.workers) * m.replicas, Local: m.replicas, Lockstep: true}
}

// Plan records the programs for the workers to compare.
func (m *multiWorker) Plan(programs ...TrainProgram) error {
	if len(programs) > 1 && m.workers.devices != nil {
		return runconfig.Mistake(fmt.Errorf("strategy %s: %d functions train: GPUs of workers take the means of one: set strategy.device to /cpu:0, or make one function of them (optimizers.MinimizeEach)", m.Name(), len(programs)))
	}
	if m.factor != nil && programs[0].Train.Step != nil {
		return runconfig.Mistake(fmt.Errorf("strategy.elastic.scale_lr: step function %q has no learning rate that could be multiplied: leave scale_lr out", programs[0].Train.Step.Function))
	}
	m.functions = len(programs)
	last := settings.Setting{Name: maxSteps, Value: orNone(strconv.FormatInt(programs[0].Terms.MaxSteps, 10))}
	m.settings = settings.Make(append([]settings.Setting{last}, describeAll(programs, m.config, m.Variables())...)).Encode()
	return nil
}

// Train prepares a step. A second program that was not planned is another build of the first.
func (m *multiWorker) Train(p TrainProgram) (Stepper, error) {
	if m.settings == nil {
		if err := m.Plan(p); err != nil {
			return nil, err
		}
	}
	s, err := m.replicated.Train(p)
	m.function = (m.function + 1) % m.functions
	return s, err
}

// Synchronize forms the next ring and gives every worker the chief's variables.
func (m *multiWorker) Synchronize(ctx context.Context, restore func() (Notes, error)) (notes Notes, err error) {
	err = m.job.unlessEnded(ctx, m.config.Ends, func(ctx context.Context) (err error) {
		notes, err = m.synchronize(ctx, restore)
		return err
	})
	return notes, err
}

func (m *multiWorker) synchronize(ctx context.Context, restore func() (Notes, error)) (Notes, error) {
	timeout := m.job.sessionTimeout()
	if m.generation > 0 {
		timeout = m.job.rejoinTimeout()
	}
	if err := m.noteState(); err != nil {
		return Notes{}, err
	}
	if err := m.stillChief(); err != nil {
		return Notes{}, err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer waiting.ReportEvery(m.job.log, m.absentForRing)()
	for {
		if err := m.form(limited); err != nil {
			return Notes{}, m.apart(ctx, timeout, err)
		}
		// It may take any time, as long as the others are there.
		notes, err := m.agree(ctx, restore)
		if !errors.Is(err, ErrSessionLost) {
			return notes, err
		}
		if limited.Err() != nil {
			return Notes{}, m.apart(ctx, timeout, err)
		}
		m.job.log.Warn("forming the ring of workers again", "cause", err)
		select {
		case <-time.After(membersPoll):
		case <-limited.Done():
		}
	}
}

// apart returns the error of workers that did not come together in time, with the names
// of workers known to be missing.
func (m *multiWorker) apart(ctx context.Context, timeout time.Duration, err error) error {
	if harm := damaged(err); harm != nil {
		return harm
	}
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrSessionLost) {
		return err
	}
	what := fmt.Sprintf("the %d workers did not come together within %v", len(m.job.workers), timeout)
	if m.elastic != nil {
		what = fmt.Sprintf("not even %d of %d workers came together within %v", m.elastic.config.Min, len(m.job.workers), timeout)
	}
	var missing *keyvalue.MissingError
	if errors.As(err, &missing) {
		absent := []cluster.Task{m.job.leading()}
		if missing.Ranks != nil {
			absent = nil
		}
		for _, rank := range missing.Ranks {
			absent = append(absent, m.job.workers[rank])
		}
		what += fmt.Sprintf(", %v did not come", absent)
	}
	return lost(what, err)
}

// agree decides how gradients are reduced, and takes the chief's variables and notes.
func (m *multiWorker) agree(ctx context.Context, restore func() (Notes, error)) (Notes, error) {
	var notes Notes
	if err := m.workers.meet(ctx, m.ring.group, m.members); err != nil {
		return notes, m.ring.abort(sessionLost(err))
	}
	if m.elastic != nil {
		return m.agreeElastic(ctx, restore)
	}
	if m.job.chief() {
		var err error
		if notes, err = restore(); err != nil {
			return notes, m.ring.abort(err)
		}
	}
	notes, err := m.share(ctx, handout{from: 0, notes: notes})
	if err != nil {
		return notes, sessionLost(err)
	}
	step, err := m.globalStep()
	m.job.positions.reset(step, notes.Positions[m.job.rank])
	m.ring.step = step
	return notes, err
}

// handout is what one worker of a ring gives to all others.
type handout struct {
	from  int   // its rank in the ring
	notes Notes // that it has
	has   bool  // this worker has the same variables already
}

// share gives all workers the variables and notes of one worker.
func (m *multiWorker) share(ctx context.Context, h handout) (Notes, error) {
	mine := h.from == m.ring.group.Rank()
	var text []byte
	if mine {
		var err error
		if text, err = json.Marshal(h.notes); err != nil {
			return h.notes, err
		}
	}
	all, err := m.ring.group.AllGather(ctx, text)
	if err != nil {
		return h.notes, err
	}
	notes := Notes{}
	if err := json.Unmarshal(all[h.from], &notes); err != nil {
		return notes, fmt.Errorf("the notes of %v: %w", m.members[h.from], err)
	}
	for _, name := range m.copies[0].Names() {
		broadcast := func(value *tensor.Tensor) error {
			return m.ring.group.Broadcast(ctx, h.from, []*tensor.Tensor{value})
		}
		switch {
		case mine:
			err = m.copies[0].View(name, broadcast)
		case h.has:
			err = m.copies[0].View(name, func(value *tensor.Tensor) error { return broadcast(tensor.New(value.DType, value.Shape...)) })
		default:
			err = m.Variables().Set(name, func(dst *tensor.Tensor, _ int) error { return broadcast(dst) })
		}
		if err != nil {
			return notes, err
		}
	}
	return notes, nil
}

// Snapshot copies the variables and asks the other workers for their inputs' positions.
func (m *multiWorker) Snapshot(ctx context.Context) (*Snapshot, error) {
	s, err := m.replicated.Snapshot(ctx)
	if err != nil {
		return s, err
	}
	if m.elastic != nil { // all inputs are at the position of this one
		s.Notes.Workers = m.elastic.began
		return s, nil
	}
	s.Notes.Positions = map[int][]byte{}
	for rank, task := range m.job.workers {
		if rank == m.job.rank {
			continue
		}
		p, ok, err := positionOf(ctx, m.job.node, task, s.Step)
		if err != nil {
			return nil, recoverable(ctx, err)
		}
		if ok {
			s.Notes.Positions[rank] = p
		}
	}
	return s, nil
}

// Paces returns the times that came with the last step.
func (m *multiWorker) Paces(context.Context) ([]Pace, error) {
	return pacesOf(m.job.workers, m.ring.secs), nil
}

// Rank is this worker's number.
func (m *multiWorker) Rank() int { return m.job.rank }

// Gather returns the values of all workers by rank.
func (m *multiWorker) Gather(ctx context.Context, value []byte) ([][]byte, error) {
	if m.ring.group == nil {
		return nil, errNotSynchronized
	}
	all, err := m.ring.group.AllGather(ctx, value)
	if err != nil {
		return nil, sessionLost(err)
	}
	return all, nil
}

// Close leaves the ring and frees the variables.
func (m *multiWorker) Close() error {
	m.workers.close()
	if m.elastic != nil {
		defer m.elastic.close()
	}
	return errors.Join(m.ring.close(), m.replicated.Close())
}
