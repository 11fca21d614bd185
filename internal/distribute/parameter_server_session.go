package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"github.com/goestimator/goestimator/tensor"
)

// Synchronize joins the session on the servers. The chief begins one, unless the servers
// still have its earlier one.
func (p *parameterServer) Synchronize(ctx context.Context, restore func() (Notes, error)) (notes Notes, err error) {
	err = p.job.unlessEnded(ctx, p.config.Ends, func(ctx context.Context) (err error) {
		notes, err = p.synchronize(ctx, restore)
		return err
	})
	return notes, err
}

func (p *parameterServer) synchronize(ctx context.Context, restore func() (Notes, error)) (Notes, error) {
	timeout := p.job.sessionTimeout()
	if p.presence != nil {
		timeout = p.job.rejoinTimeout()
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	clear(p.copied)
	for _, forget := range p.forget {
		forget()
	}
	if p.job.chief() {
		var withdrawn sync.WaitGroup
		whole := limited
		withdrawn.Go(func() { p.job.withdraw(whole) })
		defer withdrawn.Wait()
		defer cancel()
	} else {
		defer waiting.ReportEvery(p.job.log, p.absentForSession)()
	}
	foreign := "" // the task that answered in place of a server of this job
	for told := ""; ; {
		met := p.presence != nil
		notes, err := p.synchronizeOnce(limited, restore)
		if err == nil || ctx.Err() != nil || errors.Is(err, cluster.ErrOtherJob) && !met && !p.resumes() {
			return notes, err
		}
		err = recoverable(limited, err)
		again := errors.Is(err, ErrSessionLost)
		if limited.Err() != nil && (again || errors.Is(err, context.DeadlineExceeded)) {
			if again { // it was tried until the deadline: do not look for the session again
				err = errors.New(err.Error())
			}
			if foreign != "" {
				err = fmt.Errorf("%s: %w", foreign, err)
			}
			return Notes{}, lost(fmt.Sprintf("the parameter servers were not ready within %v", timeout), err)
		}
		if !again {
			return Notes{}, err
		}
		// A server ended or was restarted in the middle.
		cause := err.Error()
		if errors.Is(err, errForeign) {
			if !met && foreign == "" { // it waits as long as the tasks that were not started again
				timeout = min(timeout, p.job.rejoinTimeout())
				limited, cancel = context.WithTimeout(limited, timeout)
				defer cancel()
			}
			foreign = cause
		}
		if cause != told {
			p.job.log.Warn("looking for the parameter servers again", "cause", err)
			told = cause
		}
		select {
		case <-time.After(membersPoll):
		case <-limited.Done():
		}
	}
}

// resumes reports whether this is the chief and an earlier process of it had a session on the servers. A task of another job is then at the
// address of one of this job, which may come back. Other tasks may read the session of the present chief.
func (p *parameterServer) resumes() bool {
	if !p.job.chief() || p.config.Sessions == nil {
		return false
	}
	id, err := p.config.Sessions.Session()
	return err == nil && id != ""
}

func (p *parameterServer) synchronizeOnce(ctx context.Context, restore func() (Notes, error)) (Notes, error) {
	p.vars.client = nil
	var err error
	if p.job.chief() {
		err = p.leadSession(ctx, restore)
	} else {
		err = p.joinSession(ctx)
	}
	if err != nil {
		return Notes{}, err
	}
	p.vars.client = p.client
	if err := p.register(ctx); err != nil {
		return Notes{}, err
	}
	position, err := p.client.Position(ctx)
	if err != nil || position == nil {
		return Notes{}, err
	}
	return Notes{Positions: map[int][]byte{max(p.job.rank, 0): position}}, nil
}

// joinSession waits until the chief has begun a session. A task that was started with
// more steps than the session has also waits for a chief with as many.
func (p *parameterServer) joinSession(ctx context.Context) error {
	for began, there, asked := time.Now(), false, false; ; {
		status, err := p.awaitSession(ctx)
		if err != nil {
			return err
		}
		if err = p.sameEnd(status); err == nil || there || !ps.Later(p.last, status.Last) {
			return err
		}
		if !asked {
			p.job.log.Info("waiting for the chief to be started again with as many steps", "chief", p.job.firstWorker(), "max_steps", p.last)
		}
		there, asked = p.chiefSince(ctx, began), true
		select {
		case <-time.After(membersPoll):
		case <-ctx.Done():
			return fmt.Errorf("waiting for %v to be started with max_steps %d: %w", p.job.firstWorker(), p.last, ctx.Err())
		}
	}
}

// awaitSession waits for a session, or for the servers to say that training has ended.
func (p *parameterServer) awaitSession(ctx context.Context) (ps.Status, error) {
	status, err := p.client.WaitReady(ctx, p.plan)
	var over *ps.FinishedError
	switch {
	case errors.As(err, &over):
		err = &EndError{End{Code: over.Code, GlobalStep: over.GlobalStep, Reason: over.Reason, At: time.Now(), Sure: true}}
	case err != nil && !errors.Is(err, ErrDiffer):
		err = fmt.Errorf("waiting for %v: %w", p.job.firstWorker(), err)
	}
	return status, err
}

// sameEnd returns an error for a session whose training ends at another step.
func (p *parameterServer) sameEnd(status ps.Status) error {
	if status.Last == p.last {
		return nil
	}
	step := func(n int64) string { return orNone(strconv.FormatInt(n, 10)) }
	return p.client.Differ(0, settings.Difference{Name: maxSteps, Mine: step(p.last), Theirs: step(status.Last)})
}

// chiefSince reports whether the chief has sent a heartbeat since then, which it does
// once the session has the chief's last step.
func (p *parameterServer) chiefSince(ctx context.Context, then time.Time) bool {
	members, err := p.job.asking().Members(ctx)
	return err == nil && slices.ContainsFunc(members, func(m keyvalue.Member) bool {
		return m.Rank == 0 && m.State == keyvalue.Active && m.LastSeen < time.Since(then)
	})
}

// leadSession takes over this job's session, or begins one.
func (p *parameterServer) leadSession(ctx context.Context, restore func() (Notes, error)) error {
	status, differ := p.client.Connect(ctx, p.plan)
	if differ != nil && !errors.Is(differ, ps.ErrPlan) {
		return differ
	}
	mine, err := p.config.Sessions.Session()
	if err != nil {
		return err
	}
	if status.Ready && mine == sessionName(status.Session) {
		if differ != nil {
			return differ
		}
		return p.takeOver(ctx, status)
	}
	notes, err := restore()
	if err != nil {
		return err
	}
	step, err := p.vars.Get(GlobalStep)
	if err != nil {
		return err
	}
	err = p.client.Create(ctx, p.plan, ps.State{Step: tensor.Values[int64](step)[0], Value: p.vars.fill, Positions: notes.Positions, Last: p.last, Replace: true})
	if err != nil {
		return err
	}
	if status, err = p.client.Connect(ctx, p.plan); err != nil {
		return err
	}
	return p.config.Sessions.SetSession(sessionName(status.Session))
}

// takeOver continues this job's session. The chief may have been restarted with more
// steps.
func (p *parameterServer) takeOver(ctx context.Context, status ps.Status) error {
	p.job.log.Info("taking over the variables on the parameter servers", "global_step", status.GlobalStep)
	if ps.Later(p.last, status.Last) {
		return p.client.Extend(ctx, p.last)
	}
	return p.sameEnd(status)
}

func sessionName(id uint64) string { return fmt.Sprintf("%016x", id) }

// register tells the leader that this worker is here. It is repeated in every session,
// since the first server may have been replaced.
func (p *parameterServer) register(ctx context.Context) error {
	if p.presence != nil {
		p.presence.Close()
		p.job.store = keyvalue.NewClient(p.job.node, p.job.leader)
	}
	if p.began.IsZero() {
		p.began = time.Now()
	}
	var err error
	p.presence, err = keyvalue.Join(ctx, keyvalue.PresenceConfig{Pulse: p.job.store, Rank: max(p.job.rank, 0), StepSecs: p.pace.secs})
	return err
}
