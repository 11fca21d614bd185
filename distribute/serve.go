package distribute

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/goestimator/goestimator/distribute/cluster"
	"github.com/goestimator/goestimator/distribute/coordinator"
	"github.com/goestimator/goestimator/distribute/ps"
	"github.com/goestimator/goestimator/runconfig"
)

// partingTime is how long a server that was told to end lets the chief save.
const partingTime = 15 * time.Second

// leavingTime is how long it waits then for tasks to leave.
const leavingTime = 2 * time.Second

// Serve runs this task, a parameter server of the cluster that rc names, until
// the chief says that training is over, or ctx ends; that is its error then.
func Serve(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger) error {
	return serveJob(ctx, rc, log, false)
}

// ServeJobs is Serve for a server that stands: it serves one job after the other
// until ctx ends. The chief that begins a session first holds it for its job, until
// that is over or nobody has trained for the session creation timeout. Without a
// name of a job in rc, that may be any.
func ServeJobs(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger) error {
	for {
		err := serveJob(ctx, rc, log, jobName(rc) == "")
		if ctx.Err() != nil || err != nil && !errors.Is(err, ErrPeerLost) {
			return err
		}
		if err != nil {
			log.Warn("the variables are dropped", "cause", err)
		}
		log.Info("free for the next job")
	}
}

// serveJob is Serve; anyJob says that the server stands, and whom it serves is still open.
func serveJob(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, anyJob bool) error {
	if rc.TaskType() != runconfig.PS {
		return fmt.Errorf("task %s/%d is no parameter server", rc.TaskType(), rc.TaskID())
	}
	j, err := open(rc, log, anyJob)
	if err != nil {
		return err
	}
	server := ps.NewServer(ps.ServerConfig{Incarnation: j.node.Incarnation(), Client: j.node, Servers: j.servers, Hold: j.node.Hold, Log: log})
	if err := j.serve(server.Service()); err != nil {
		return errors.Join(err, server.Close(), j.Close())
	}
	log.Info("serving variables", "task", j.node.Task(), "address", j.node.Addr())
	watching, stop := context.WithCancel(ctx)
	select {
	case <-server.Done():
		log.Info("training is over", "reason", server.Reason())
	case <-ctx.Done():
		j.part(server)
		select {
		case <-server.Done(): // just before its own end
		default:
			err = ctx.Err()
		}
	case <-j.node.Damaged():
		err = damaged(fmt.Errorf("%v: %w", j.node.Task(), cluster.ErrDamaged))
	case err = <-j.abandoned(watching):
	}
	stop()
	return errors.Join(err, server.Close(), j.Close())
}

// abandoned tells when nobody has trained for as long as a session may take to begin.
func (j *Job) abandoned(ctx context.Context) <-chan error {
	out := make(chan error, 1)
	limit := j.sessionTimeout()
	go func() {
		for since := time.Now(); ; {
			select {
			case <-time.After(min(limit/10, 10*time.Second)):
			case <-ctx.Done():
				return
			}
			if j.anyActive(ctx) {
				since = time.Now()
			}
			if time.Since(since) >= limit {
				out <- lost(fmt.Sprintf("nobody has trained for %v: waiting for %v", limit, j.firstWorker()), context.DeadlineExceeded)
				return
			}
		}
	}()
	return out
}

// firstWorker names the task that begins the session.
func (j *Job) firstWorker() string {
	if len(j.workers) == 0 {
		return "the chief"
	}
	return j.workers[0].String()
}

// part lets the chief save first, as long as anybody trains.
func (j *Job) part(server *ps.Server) {
	last, cancel := context.WithTimeout(context.Background(), partingTime)
	defer cancel()
	go func() {
		defer cancel()
		for idle := 0; idle < 3; idle++ { // once may be by chance: a leader that is busy, or just ends
			if j.anyActive(last) {
				idle = -1
			}
			select {
			case <-time.After(settlePoll / 2):
			case <-last.Done():
				return
			}
		}
	}()
	server.Part(last)
	// Those that saved have still to tell that they leave.
	for until := time.Now().Add(leavingTime); time.Now().Before(until) && j.anyActive(last); {
		time.Sleep(settlePoll / 4)
	}
}

// anyActive reports whether the leader knows of a task that trains.
func (j *Job) anyActive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	board := j.board
	if j.node.Task() != j.leader { // a client of its own, which a leader that was replaced does not refuse
		board = coordinator.NewClient(j.node, j.leader)
	}
	members, err := board.Members(ctx)
	return err == nil && slices.ContainsFunc(members, func(m coordinator.Member) bool { return m.State == coordinator.Active })
}

// Release tells parameter servers that training is over, on behalf of a chief
// that has found nothing left to do. Servers that are not there are done already.
func Release(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger) error {
	j, err := open(rc, log, false)
	if err != nil {
		return err
	}
	client := ps.NewClient(ps.ClientConfig{Client: j.node, Servers: j.servers, Log: log})
	ctx, cancel := context.WithTimeout(ctx, j.rejoinTimeout())
	defer cancel()
	if err := client.Finish(ctx, "max_steps"); err != nil {
		log.Warn("parameter servers were not told that training is over", "error", err)
	}
	return j.Close()
}
