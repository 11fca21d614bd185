package distribute

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/runconfig"
)

// elastic is the additional state of multi_worker_mirrored with elastic workers.
type elastic struct {
	config runconfig.Elastic
	job    *Job
	ranks  []int     // of the workers in the latest generation
	state  state     // of this worker's variables
	last   time.Time // of the last step; zero: none was made
	formed bool      // a ring has formed that has made no step yet
	began  int       // the number of workers that training began with, to which learning rates apply
	folder string    // name of the chief's model_dir, stored there for workers that share it

	hearing    hearing
	lost       atomic.Pointer[error] // why this worker has stopped being the chief
	end        context.CancelFunc    // ends what runs in the background; nil: nothing does
	background sync.WaitGroup
}

var _ Elastic = (*multiWorker)(nil)

// settlePoll is how often the leader checks which workers have come to a forming round.
const settlePoll = 50 * time.Millisecond

// proposal is what an elastic worker sends when it asks for the next generation.
type proposal struct {
	Settings   []byte `json:"settings"`
	Generation int64  `json:"generation"` // its last generation; 0: none
	Former     []int  `json:"former"`     // the ranks of that generation
}

// nextGeneration waits for the next generation. On the leader it also decides when the
// generation begins, and with which workers.
func (e *elastic) nextGeneration(ctx context.Context, own proposal) (keyvalue.Generation, []proposal, error) {
	value, err := json.Marshal(own)
	if err != nil {
		return keyvalue.Generation{}, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	var settling sync.WaitGroup
	if s, ok := e.job.store.(*keyvalue.Store); ok {
		settling.Go(func() { e.settle(ctx, s) })
	}
	g := keyvalue.Gather{Name: ringName, Rank: e.job.rank, Size: len(e.job.workers), Value: value}
	next, err := e.job.nextGeneration(ctx, g, own.Generation)
	stop()
	settling.Wait()
	if err != nil {
		return next, nil, err
	}
	e.ranks = nil
	var all []proposal
	for rank, text := range next.Values {
		if len(text) == 0 {
			continue // it is not in this generation
		}
		p, err := parseProposal(text)
		if err != nil {
			return next, nil, fmt.Errorf("%v: %w", e.job.workers[rank], err)
		}
		e.ranks, all = append(e.ranks, rank), append(all, p)
	}
	return next, all, nil
}

func parseProposal(text []byte) (p proposal, err error) {
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("%w: what it proposes: %w", ErrDiffer, err)
	}
	return p, nil
}

// settle completes the forming round as soon as possible, until ctx ends.
func (e *elastic) settle(ctx context.Context, s *keyvalue.Store) {
	rule := keyvalue.Elastic{Min: e.config.Min, Size: len(e.job.workers), Wait: seconds(e.config.StartSecs())}
	began := time.Now()
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	for {
		t := turnout(s.Forming(ringName))
		t.Waited = time.Since(began)
		if !rule.Complete(t) {
			t.Gone = e.absent(ctx, t.Missing())
		}
		if rule.Complete(t) {
			s.Settle(ringName, t.Came)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// turnout returns which workers have come, and which were in the latest generation that any of them knows.
func turnout(came []keyvalue.Candidate) (t keyvalue.Turnout) {
	latest := int64(0)
	for _, c := range came {
		t.Came = append(t.Came, c.Rank)
		if p, err := parseProposal(c.Value); err == nil && p.Generation > latest {
			latest, t.Former = p.Generation, p.Former
		}
	}
	return t
}

// absent returns the ranks that have ended or left, or have not answered for the peer timeout.
func (e *elastic) absent(ctx context.Context, ranks []int) []int {
	if len(ranks) == 0 {
		return nil
	}
	left := map[cluster.Task]bool{}
	if members, err := e.job.store.Members(ctx); err == nil {
		for _, m := range members {
			left[m.Task] = m.State == keyvalue.Done
		}
	}
	gone := make([]bool, len(ranks))
	var asked sync.WaitGroup
	for i, rank := range ranks {
		asked.Go(func() { gone[i] = left[e.job.workers[rank]] || e.hearing.gone(ctx, rank) })
	}
	asked.Wait()
	var out []int
	for i, rank := range ranks {
		if gone[i] {
			out = append(out, rank)
		}
	}
	return out
}

// silence is how long a worker may not answer before the others continue without it.
func (j *Job) silence() time.Duration { return seconds(j.config.Connections().PeerTimeoutSecs) }

// state is how far a worker's variables are: workers with the same state have the same values.
type state struct {
	Generation int64 `json:"generation"` // in which the last step was made
	Step       int64 `json:"step"`       // -1: it has none
}

// newer reports whether training continues from s rather than from o.
func (s state) newer(o state) bool {
	return s.Step > o.Step || s.Step == o.Step && s.Generation > o.Generation
}

// noteState records how far this worker got in the ending ring.
func (m *multiWorker) noteState() error {
	if m.elastic == nil || m.elastic.state.Step < 0 {
		return nil
	}
	step, err := m.globalStep()
	if err == nil && step != m.elastic.state.Step {
		m.elastic.state = state{Generation: m.generation, Step: step}
	}
	return err
}

// newest returns the index of the first of the newest states.
func newest(all []state) int {
	best := 0
	for i, s := range all {
		if s.newer(all[best]) {
			best = i
		}
	}
	return best
}

// agreeElastic takes the variables and notes of the worker that is furthest or, if no
// worker has any, what the chief restores.
func (m *multiWorker) agreeElastic(ctx context.Context, restore func() (Notes, error)) (Notes, error) {
	var notes Notes
	e := m.elastic
	all, err := gatherOf(ctx, m.ring.group, e.state)
	if err != nil {
		return notes, sessionLost(err)
	}
	from := newest(all)
	if all[from].Step < 0 {
		from = slices.Index(m.members, m.job.leading())
	}
	switch fresh := all[from].Step < 0; {
	case fresh && m.job.chief():
		if notes, err = m.restoreFirst(restore); err != nil {
			return notes, m.ring.abort(err)
		}
		notes.Workers = cmp.Or(notes.Workers, len(m.members))
	case from == m.ring.group.Rank():
		notes.Folder, notes.Workers = e.folder, e.began
		if position, ok := m.job.positions.at(e.state.Step); ok {
			notes.Positions = map[int][]byte{0: position}
		}
	}
	has := e.state.Step >= 0 && e.state == all[from]
	if !has {
		e.state = state{Step: -1} // until all variables have arrived
	}
	notes, err = m.share(ctx, handout{from: from, notes: notes, has: has})
	if err != nil {
		return notes, sessionLost(err)
	}
	step, err := m.globalStep()
	if err != nil {
		return notes, err
	}
	e.folder, e.began = notes.Folder, notes.Workers
	e.state = state{Generation: all[from].Generation, Step: step}
	if all[from].Step < 0 {
		e.state.Generation = m.generation
	}
	m.job.positions.reset(step, notes.Positions[0])
	m.ring.step, e.formed = step, true
	return notes, nil
}

// restoreFirst restores the state from which training begins, and gives model_dir a name.
func (m *multiWorker) restoreFirst(restore func() (Notes, error)) (Notes, error) {
	notes, err := restore()
	if err != nil || m.config.Sessions == nil {
		return notes, err
	}
	notes.Folder = rand.Text()
	return notes, m.config.Sessions.SetSession(notes.Folder)
}

// askLeader waits for the leader's next generation, as long as the leader does not change.
func (m *multiWorker) askLeader(ctx context.Context, own proposal) (keyvalue.Generation, []proposal, error) {
	if m.job.leads() {
		return m.elastic.nextGeneration(ctx, own)
	}
	asking, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { m.watchLeader(asking, end) })
	next, all, err := m.elastic.nextGeneration(asking, own)
	if err != nil && errors.Is(context.Cause(asking), errLeaderGone) {
		err = errLeaderGone
	}
	end(nil)
	watching.Wait()
	return next, all, err
}

// Share is this worker's place in the current ring.
func (m *multiWorker) Share() (Share, bool) {
	if m.elastic == nil || m.ring.group == nil {
		return Share{Count: 1}, m.elastic != nil
	}
	return Share{Index: m.ring.group.Rank(), Count: m.ring.group.Size(), Whole: m.elastic.config.Batch == runconfig.PerWorkerBatch}, true
}

// stepped records that a step was made. For the first step of a ring it logs the workers, and the time without steps.
func (e *elastic) stepped(step int64) {
	now := time.Now()
	if e.formed {
		var names []string
		for _, rank := range e.ranks {
			names = append(names, e.job.workers[rank].String())
		}
		args := []any{"workers", len(names), "names", strings.Join(names, " "), "global_step", step}
		if !e.last.IsZero() {
			args = append(args, "secs_without_step", math.Round(now.Sub(e.last).Seconds()*1e3)/1e3)
		}
		if e.config.ScaleLR == runconfig.ScaleLinear {
			args = append(args, "learning_rate_factor", e.rateFactor())
		}
		e.job.log.Info("the ring of workers trains", args...)
	}
	e.last, e.formed = now, false
}

// rateFactor is what elastic.scale_lr: linear multiplies learning rates by.
func (e *elastic) rateFactor() float64 { return float64(len(e.ranks)) / float64(max(e.began, 1)) }

// Leave tells the leader not to wait for this worker any more.
func (m *multiWorker) Leave(ctx context.Context) { m.job.leave(ctx) }

// errMembership is the reason for a new ring if no worker was lost.
var errMembership = errors.New("a worker joins or leaves")

// someoneWaits reports, on the leader, whether a worker outside of the ring asks to join.
func (e *elastic) someoneWaits() bool {
	s, ok := e.job.store.(*keyvalue.Store)
	return ok && len(s.Forming(ringName)) > 0
}
