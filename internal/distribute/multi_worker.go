package distribute

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/distributed/coordinator"
	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// multiWorker is multi_worker_mirrored: every worker has a copy of the variables,
// and all make each step together, reducing gradients in a ring.
type multiWorker struct {
	*replicated
	job        *Job
	ring       *ring
	generation int64
	settings   []byte // what the workers compare, as it is sent
}

var (
	_ Shared   = (*multiWorker)(nil)
	_ Gatherer = (*multiWorker)(nil)
	_ Paced    = (*multiWorker)(nil)
)

// newMultiWorker returns multi_worker_mirrored; in a process alone it is
// mirrored with one replica.
func newMultiWorker(c Config) (Strategy, error) {
	if c.Job == nil || len(c.Job.workers) < 2 {
		c.Replicas = 1
		return newMirrored(c)
	}
	dev, err := c.open(localRank())
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", c.Name, err)
	}
	r, err := newReplicated(c, []device.Device{dev}, false)
	if err != nil {
		return nil, err
	}
	m := &multiWorker{replicated: r, job: c.Job, ring: &ring{job: c.Job}}
	r.peers, r.workers = m.ring, newWorkerGPUs(c, dev)
	return m, nil
}

// Replicas are one per worker.
func (m *multiWorker) Replicas() Replicas {
	return Replicas{InSync: len(m.job.workers) * m.replicas, Local: m.replicas, Lockstep: true}
}

// Train prepares a step, and notes what is trained, for the workers to compare.
func (m *multiWorker) Train(p TrainProgram) (Stepper, error) {
	if m.settings == nil { // else the program is another build of the same model
		last := settings.Setting{Name: maxSteps, Value: orNone(strconv.FormatInt(p.Terms.MaxSteps, 10))}
		m.settings = settings.Make(append([]settings.Setting{last}, describe(p, m.config, m.Variables())...)).Encode()
	}
	return m.replicated.Train(p)
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
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer waiting.ReportEvery(m.job.log, m.absentForRing)()
	for {
		if err := m.form(limited); err != nil {
			return Notes{}, m.apart(ctx, timeout, err)
		}
		// As long as the others are there it may take its time.
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

// apart is the error of workers that did not come together in time, with the
// names of those that are known to be missing.
func (m *multiWorker) apart(ctx context.Context, timeout time.Duration, err error) error {
	if harm := damaged(err); harm != nil {
		return harm
	}
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrSessionLost) {
		return err
	}
	what := fmt.Sprintf("the %d workers did not come together within %v", len(m.job.workers), timeout)
	var missing *coordinator.MissingError
	if errors.As(err, &missing) {
		absent := []cluster.Task{m.job.leader}
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

// agree decides how gradients travel, and takes the chief's variables and notes.
func (m *multiWorker) agree(ctx context.Context, restore func() (Notes, error)) (Notes, error) {
	var notes Notes
	if err := m.workers.meet(ctx, m.ring.group); err != nil {
		return notes, m.ring.abort(sessionLost(err))
	}
	if m.job.chief() {
		var err error
		if notes, err = restore(); err != nil {
			return notes, m.ring.abort(err)
		}
	}
	notes, err := m.share(ctx, notes)
	if err != nil {
		return notes, sessionLost(err)
	}
	step, err := m.globalStep()
	m.job.positions.reset(step, notes.Positions[m.job.rank])
	m.ring.step = step
	return notes, err
}

// form meets the other workers, until ctx ends.
func (m *multiWorker) form(ctx context.Context) error {
	if err := errors.Join(m.workers.leave(), m.ring.close()); err != nil {
		return err
	}
	for {
		err := m.formOnce(ctx)
		if err == nil || hopeless(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		m.job.log.Warn("forming the ring of workers again", "cause", err)
		select {
		case <-time.After(membersPoll):
		case <-ctx.Done():
		}
	}
}

// longestCall is how long the others are waited for in a step, at least: one may
// evaluate or export between two steps. That it is alive is looked after otherwise.
const longestCall = 10 * time.Minute

// hopeless reports errors that forming the ring again does not help against.
func hopeless(err error) bool {
	for _, final := range []error{ErrDiffer, collective.ErrMismatch, coordinator.ErrSuperseded, coordinator.ErrInvalid, cluster.ErrRefused, cluster.ErrDamaged} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// ringName is what the ring of all workers is called on the key-value store.
const ringName = "workers"

func (m *multiWorker) formOnce(ctx context.Context) error {
	g := coordinator.Gather{Name: ringName, Rank: m.job.rank, Size: len(m.job.workers), Value: m.settings}
	next, err := m.job.nextGeneration(ctx, g, m.generation)
	if err != nil {
		return err
	}
	m.generation = next.Number
	if err := m.compare(next.Values); err != nil {
		return err
	}
	m.ring.group, err = collective.Form(ctx, collective.Config{Endpoint: m.job.links, Store: m.job.store, Tasks: m.job.workers, Rank: m.job.rank,
		Generation: next.Number, BytesPerPack: m.config.BytesPerPack, CallTimeout: max(longestCall, m.job.sessionTimeout()),
		Describe: m.job.absent, Log: m.job.log})
	return err
}

// compare looks for a worker with other settings than the chief has.
func (m *multiWorker) compare(all [][]byte) error {
	for rank, text := range all {
		if bytes.Equal(text, all[0]) {
			continue
		}
		mine, err := settings.Parse(text)
		theirs, cerr := settings.Parse(all[0])
		if err := errors.Join(err, cerr); err != nil {
			return fmt.Errorf("%w: %v: %w", ErrDiffer, m.job.workers[rank], err)
		}
		return &settings.DifferError{Mine: m.job.workers[rank].String(), Theirs: m.job.workers[0].String(), Differences: mine.Differences(theirs)}
	}
	return nil
}

// nextGeneration asks the leader, a new one where it came back without its state.
func (j *Job) nextGeneration(ctx context.Context, g coordinator.Gather, after int64) (coordinator.Generation, error) {
	next, err := j.store.NextGeneration(ctx, g, after)
	if errors.Is(err, coordinator.ErrLeaderReset) {
		j.store = coordinator.NewClient(j.node, j.leader)
	}
	return next, err
}

// share gives all workers the chief's variables and notes.
func (m *multiWorker) share(ctx context.Context, notes Notes) (Notes, error) {
	var mine []byte
	if m.job.chief() {
		var err error
		if mine, err = json.Marshal(notes); err != nil {
			return notes, err
		}
	}
	all, err := m.ring.group.AllGather(ctx, mine)
	if err != nil {
		return notes, err
	}
	if err := json.Unmarshal(all[0], &notes); err != nil {
		return notes, fmt.Errorf("the chief's notes: %w", err)
	}
	for _, name := range m.copies[0].Names() {
		broadcast := func(value *tensor.Tensor) error { return m.ring.group.Broadcast(ctx, 0, []*tensor.Tensor{value}) }
		if m.job.chief() {
			err = m.copies[0].View(name, broadcast)
		} else {
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
		return nil, err
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

// Paces are those that came with the last step.
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

// Drain has nothing to wait for: all workers made the same steps.
func (m *multiWorker) Drain(context.Context, bool) error { return nil }

// Finish keeps the workers together until the chief has saved the last state
// and all have heard of it.
func (m *multiWorker) Finish(ctx context.Context, over bool) error {
	saved, left := fmt.Sprintf("finished/%d", m.generation), func(rank int) string { return fmt.Sprintf("left/%d/%d", m.generation, rank) }
	if m.job.chief() {
		if over {
			if err := m.job.post(ctx, End{Job: m.job.node.Job(), GlobalStep: m.ring.step, At: time.Now(), Sure: true}); err != nil {
				return err
			}
		}
		if err := m.job.store.Set(ctx, saved, nil); err != nil {
			return err
		}
		return m.awaitLeaving(ctx, over, left)
	}
	defer waiting.ReportEvery(m.job.log, func(ctx context.Context) []waiting.Target {
		return m.job.absentChief(ctx, "it has not saved the last state yet")
	})()
	for {
		_, err := m.job.store.Wait(ctx, saved)
		if harm := damaged(err); harm != nil {
			return harm
		}
		switch {
		case err == nil:
			if err := m.job.store.Set(ctx, left(m.job.rank), nil); err != nil {
				m.job.log.Warn("the chief was not told that this worker leaves", "error", err)
			}
			return nil
		case errors.Is(err, cluster.ErrPeerLost), errors.Is(err, coordinator.ErrLeaderReset):
			return lost("the chief was lost before it saved the last state", err)
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
}

// leaveTime is how long workers that have to end soon are waited for.
const leaveTime = 3 * time.Second

// awaitLeaving gives the others time to do what they do at the end: where the
// chief was gone they could not know that all went well.
func (m *multiWorker) awaitLeaving(ctx context.Context, over bool, left func(rank int) string) error {
	limit := leaveTime
	if over {
		limit = max(limit, m.job.rejoinTimeout())
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for wait := waiting.Begin(time.Now()); ; {
		staying, err := m.staying(ctx, left)
		if err != nil || len(staying) == 0 {
			return err
		}
		wait.Report(m.job.log, func() []waiting.Target { return m.job.absent(limited, staying, "it has not ended yet") })
		select {
		case <-time.After(membersPoll / 4):
		case <-limited.Done():
			m.job.log.Warn("workers did not end in time; training ends without them", "workers", staying)
			return ctx.Err()
		}
	}
}

// staying are the workers that have not said that they leave.
func (m *multiWorker) staying(ctx context.Context, left func(rank int) string) ([]cluster.Task, error) {
	late, err := m.job.late(ctx)
	if err != nil {
		return nil, err
	}
	var out []cluster.Task
	for rank, task := range m.job.workers {
		if !slices.Contains(late, task) {
			continue // it was started again, and knows of the end
		}
		_, ok, err := m.job.store.Get(ctx, left(rank))
		if err != nil {
			return nil, err
		}
		if !ok {
			out = append(out, task)
		}
	}
	return out, nil
}

// Close leaves the ring and frees the variables.
func (m *multiWorker) Close() error {
	m.workers.close()
	return errors.Join(m.ring.close(), m.replicated.Close())
}
