package distribute

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// Sessions remembers the job's session on the parameter servers, so that a restarted
// chief takes over this session and no other.
type Sessions interface {
	// Session returns the last argument of SetSession, "" for none.
	Session() (string, error)
	SetSession(id string) error
}

// parameterServer keeps variables on ps tasks. Workers pull values, compute gradients
// and push them. The optimizer runs where the variables are.
type parameterServer struct {
	config   Config
	job      *Job
	client   *ps.Client
	plan     *ps.Plan
	last     int64 // the global step at which training ends; 0: not set
	vars     *remoteVariables
	devs     []device.Device // of this worker's replicas
	copies   workerCopies    // of the variables that their programs read whole
	presence *keyvalue.Presence
	began    time.Time // when training began here
	stepped  bool      // a synchronous step was made since then
	step     int64     // the latest step that this task knows
	pace     pace
	forget   map[*workerStep]func() // functions that drop what steppers prefetched
	copied   map[string]uint64      // versions of the variables in copies
	several  bool                   // several programs train
}

var (
	_ Shared  = (*parameterServer)(nil)
	_ Paced   = (*parameterServer)(nil)
	_ Planner = (*parameterServer)(nil)
)

func newParameterServer(c Config) (Strategy, error) {
	if c.Job == nil || len(c.Job.servers) == 0 {
		return nil, runconfig.Mistake(errNoServers)
	}
	transfer, err := ps.ParseTransfer(c.Transfer)
	if err != nil {
		return nil, runconfig.Mistake(err)
	}
	p := &parameterServer{config: c, job: c.Job, vars: &remoteVariables{}, copied: map[string]uint64{}, forget: map[*workerStep]func(){}}
	if p.devs, err = c.openEach(); err != nil {
		return nil, fmt.Errorf("strategy %s: %w", p.Name(), err)
	}
	if p.copies, err = newWorkerCopies(p.devs); err != nil {
		return nil, errors.Join(err, closeAll(p.devs))
	}
	p.client = ps.NewClient(ps.ClientConfig{Client: c.Job.node, Servers: c.Job.servers, Rank: max(c.Job.rank, 0), Transfer: transfer,
		Timeout: seconds(c.Job.config.Connections().CallTimeoutSecs), Log: c.Job.log})
	return p, nil
}

// Name is "parameter_server".
func (p *parameterServer) Name() string { return "parameter_server" }

// Replicas are in sync within a worker and, if gradients are aggregated, over workers.
func (p *parameterServer) Replicas() Replicas {
	n := len(p.devs)
	if s := p.sync(); s != nil {
		return Replicas{InSync: s.Aggregate * n, Local: n, Sharded: true}
	}
	return Replicas{InSync: n, Local: n, Sharded: true}
}

// sync returns how gradients are aggregated, nil if each is applied separately.
func (p *parameterServer) sync() *ps.Sync { return p.config.syncOf(p.job.config.NumWorkers()) }

// Variables are only declared here until Synchronize, and then on the servers.
func (p *parameterServer) Variables() Variables { return p.vars }

// Infer compiles a program that pulls what it reads. The plan must be made.
func (p *parameterServer) Infer(x Program) (Stepper, error) {
	if p.plan == nil {
		return nil, fmt.Errorf("strategy %s: a program that only reads variables before one that trains: expected the latter first", p.Name())
	}
	s, err := newWorkerInference(p, x)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", p.Name(), err)
	}
	return s, nil
}

// Train makes the plan of the variables and compiles the gradient program.
func (p *parameterServer) Train(t TrainProgram) (Stepper, error) {
	if p.plan == nil { // otherwise the program is another build of the same model
		if err := p.Plan(t); err != nil {
			return nil, err
		}
	}
	s, err := newWorkerStep(p, t)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", p.Name(), err)
	}
	if p.config.Sync || len(s.lookups.list()) == 0 {
		return s, nil
	}
	return newPrefetchingStep(s)
}

// Plan makes the plan of the variables, with the rules that all programs share.
func (p *parameterServer) Plan(programs ...TrainProgram) error {
	if err := p.makePlan(programs); err != nil {
		return fmt.Errorf("strategy %s: %w", p.Name(), err)
	}
	p.several = len(programs) > 1
	return nil
}

func (p *parameterServer) makePlan(programs []TrainProgram) (err error) {
	p.plan, err = p.config.newPlan(p.vars, programs, len(p.job.servers), p.job.config.NumWorkers())
	p.last, p.vars.plan = programs[0].Terms.MaxSteps, p.plan
	return err
}

// Paces returns the times that came with heartbeats, and this task's own.
func (p *parameterServer) Paces(ctx context.Context) ([]Pace, error) {
	members, err := p.job.store.Members(ctx)
	return pacesOfMembers(members, Pace{p.job.node.Task(), p.pace.secs()}), err
}

// Snapshot fences the servers; training continues while the snapshot is read.
func (p *parameterServer) Snapshot(ctx context.Context) (*Snapshot, error) {
	limited, cancel := cluster.WithTimeout(ctx, fenceTime)
	defer cancel()
	f, err := p.client.Fence(limited)
	if err != nil {
		return nil, recoverable(ctx, err)
	}
	p.step = f.Step
	s := &Snapshot{Step: f.Step, Tensors: map[string]*tensor.Tensor{GlobalStep: tensor.Scalar(f.Step)}, Notes: Notes{Positions: f.Positions}}
	s.Close = func() error {
		if err := f.Close(); err != nil { // what was read is complete, and the servers drop the fence after a while
			p.job.log.Warn("a parameter server was not told that the checkpoint has been read", "error", err)
		}
		return nil
	}
	maps.Copy(s.Tensors, f.Scalars)
	for _, x := range f.Parts {
		s.Parts = append(s.Parts, Part{Name: x.Name, Type: x.Type, First: x.First, Rows: x.Rows, Whole: x.Whole,
			Read: func() (*tensor.Tensor, error) {
				t, err := x.Read(ctx)
				return t, recoverable(ctx, err)
			}})
	}
	return s, nil
}

// fenceTime bounds how long a checkpoint waits for the servers: a task that was asked to
// end has little time, and the servers hold back pushes for at most 10 s.
const fenceTime = 15 * time.Second

// recoverable marks errors after which the job can continue. They include a task that is
// alive but did not answer a request in time: then this task should be started again. A
// task of another job at the address of one of this job counts as a loss, since this job's
// task may come back. ctx is the context of the requests.
func recoverable(ctx context.Context, err error) error {
	if harm := damaged(err); harm != nil {
		return harm
	}
	switch {
	case errors.Is(err, ps.ErrReset), errors.Is(err, cluster.ErrPeerLost), errors.Is(err, keyvalue.ErrLeaderReset):
		return fmt.Errorf("%w: %w", ErrSessionLost, err)
	case errors.Is(err, cluster.ErrOtherJob):
		return fmt.Errorf("%w: %w: %v", ErrSessionLost, errForeign, err) // not wrapped, since it is no mistake here
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return lost("a request ran into its deadline", err)
	}
	return err
}

// errForeign says that a task of another job answers.
var errForeign = errors.New("another job's task is where one of this job was")

// membersPoll is how often the chief checks whether workers are still there.
const membersPoll = 200 * time.Millisecond

// Drain ends this worker's part. Other workers than the chief just stop. The chief waits
// for the others, which stop at their next step or, if toEnd is set, at the ends of their
// inputs, including workers that begin later. In synchronous training the end of one input
// ends training.
func (p *parameterServer) Drain(ctx context.Context, toEnd bool) error {
	if p.job.chief() && !toEnd || p.config.Sync {
		if err := p.client.SetStop(ctx, "finished"); err != nil {
			return recoverable(ctx, err)
		}
	}
	if !p.job.chief() {
		return nil
	}
	toEnd = toEnd && !p.config.Sync
	limit := time.Now().Add(p.job.rejoinTimeout())
	for wait := waiting.Begin(time.Now()); ; {
		members, err := p.job.store.Members(ctx)
		if err != nil {
			return recoverable(ctx, err)
		}
		others := p.active(members)
		if len(others) == 0 && !(toEnd && p.expects(members)) {
			return nil
		}
		if !toEnd && time.Now().After(limit) {
			p.job.log.Warn("workers did not stop; training ends without them", "workers", others)
			return nil
		}
		wait.Report(p.job.log, func() []waiting.Target { return p.job.absent(ctx, others, "it trains") })
		select {
		case <-time.After(membersPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// others returns the other workers that train.
func (p *parameterServer) others(ctx context.Context) ([]cluster.Task, error) {
	members, err := p.job.store.Members(ctx)
	return p.active(members), err
}

func (p *parameterServer) active(members []keyvalue.Member) []cluster.Task {
	var out []cluster.Task
	for _, m := range members {
		if m.State == keyvalue.Active && m.Task != p.job.node.Task() {
			out = append(out, m.Task)
		}
	}
	slices.SortFunc(out, func(a, b cluster.Task) int { return a.Index - b.Index })
	return out
}

// startTime is how long workers may take to start, in addition to their initial delay.
const startTime = 10 * time.Second

// expects reports whether a worker has not come yet but still may.
func (p *parameterServer) expects(members []keyvalue.Member) bool {
	delay := min(p.job.config.ExperimentalMaxWorkerDelaySecs(), 5*len(p.job.workers))
	return len(members) < len(p.job.workers) && time.Since(p.began) < startTime+time.Duration(delay)*time.Second
}

// Finish leaves the job. If training is over, the chief ends the servers.
func (p *parameterServer) Finish(ctx context.Context, over bool) error {
	err := p.presence.Leave(ctx)
	if !over {
		return err
	}
	// Everything is saved: a server that is not told of the end does no harm.
	if p.job.chief() {
		ctx, cancel := context.WithTimeout(ctx, p.job.rejoinTimeout())
		defer cancel()
		err = errors.Join(err, p.client.Finish(ctx, ps.Outcome{Reason: "finished", GlobalStep: p.step}))
	}
	if harm := damaged(err); harm != nil {
		return harm // the next process will tell them
	}
	if err != nil {
		p.job.log.Warn("parameter servers were not informed that training is over", "error", err)
	}
	return nil
}

// Close frees this task's resources.
func (p *parameterServer) Close() error {
	if p.presence != nil {
		p.presence.Close()
	}
	p.client.Close()
	return errors.Join(p.copies.Close(), closeAll(p.devs))
}
