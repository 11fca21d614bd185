package distribute

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"github.com/goestimator/goestimator/runconfig"
	"google.golang.org/grpc"
)

// partingTime is how long a server that was asked to end lets the chief save.
const partingTime = 15 * time.Second

// leavingTime is how long it then waits for tasks to leave.
const leavingTime = 2 * time.Second

// Serve runs this task, a parameter server of the cluster that rc names, until the chief
// says that training is over. If ctx ends first, Serve returns its error.
func Serve(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger) error {
	return serveJob(ctx, rc, log, nil)
}

// ServeJobs is Serve for a standing server: it serves one job after the other until ctx
// ends. The first chief that begins a session reserves it for its job, until the job is
// over or no task has trained for the session creation timeout. If rc names no job, any
// job may come.
func ServeJobs(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, o Standing) error {
	s := standing{Standing: o}
	for {
		err := serveJob(ctx, rc, log, &s)
		var end *EndError
		if ctx.Err() != nil || err != nil && !errors.Is(err, ErrPeerLost) && !errors.As(err, &end) {
			return err
		}
		if err != nil {
			log.Warn("the variables are dropped", "cause", err)
		}
		log.Info("free for the next job")
	}
}

// Standing says what a standing server does in addition to serving jobs. The zero value: nothing.
type Standing struct {
	// Tasks returns the listener for the next job; nil: a new port at the task's address for each job.
	Tasks func() net.Listener
	// Register adds further services to the port; nil: none.
	Register func(grpc.ServiceRegistrar)
	// Trains, if not nil, is called periodically while tasks train.
	Trains func()
}

// standing is what a standing server keeps from one job to the next.
type standing struct {
	Standing
	former *End // end of the latest job; nil: none
}

// tasks returns the listener for the next job, nil for a new port.
func (s *standing) tasks() net.Listener {
	if s == nil || s.Tasks == nil {
		return nil
	}
	return s.Tasks()
}

// serveJob is Serve; s is nil unless the server is standing.
func serveJob(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, s *standing) error {
	if rc.TaskType() != runconfig.PS {
		return runconfig.Mistake(fmt.Errorf("task %s/%d is no parameter server", rc.TaskType(), rc.TaskID()))
	}
	j, err := openAt(s.tasks(), rc, log, s != nil && jobName(rc) == "")
	if err != nil {
		return err
	}
	if s != nil && s.Register != nil {
		if err := j.node.RegisterForeign(s.Register); err != nil {
			return errors.Join(err, j.Close())
		}
	}
	server := ps.NewServer(ps.ServerConfig{Incarnation: j.node.Incarnation(), Client: j.node, Servers: j.servers, Hold: j.node.Hold, Log: log})
	if err := j.serve(server.Service()); err != nil {
		return errors.Join(err, server.Close(), j.Close())
	}
	if s != nil && s.former != nil && j.leads() {
		err = j.post(ctx, *s.former)
	}
	log.Info("serving variables", "task", j.node.Task(), "address", j.node.Addr())
	watching, stop := context.WithCancel(ctx)
	select {
	case <-server.Done():
		err = errors.Join(err, j.ended(ctx, server, s))
	case <-ctx.Done():
		j.part(server)
		select {
		case <-server.Done(): // just before its own end
			err = errors.Join(err, j.outcome(server).err())
		default:
			err = ctx.Err()
		}
	case <-j.node.Damaged():
		err = damaged(fmt.Errorf("%v: %w", j.node.Task(), cluster.ErrDamaged))
	case err = <-j.abandoned(watching, s):
	}
	stop()
	return errors.Join(err, server.Close(), j.Close())
}

// ended tells late tasks how the training ended, for a while or, if the server is standing,
// while it serves the next job.
func (j *Job) ended(ctx context.Context, server *ps.Server, s *standing) error {
	end := j.outcome(server)
	if s != nil {
		s.former = &end
	}
	err := end.err()
	if err == nil {
		j.log.Info("training is over", "reason", end.Reason)
	}
	if s != nil || !j.leads() {
		return err
	}
	end.Sure = true
	if perr := errors.Join(server.Close(), j.post(ctx, end)); perr != nil {
		return errors.Join(err, perr)
	}
	j.linger(ctx)
	return err
}

// outcome returns what the chief said at the end of the job.
func (j *Job) outcome(server *ps.Server) End {
	o := server.Outcome()
	return End{Job: j.node.Job(), Code: o.Code, GlobalStep: o.GlobalStep, Reason: o.Reason, At: time.Now()}
}

// abandoned reports when no task has trained for as long as a session may take to begin. A
// standing server that waits for a job reports nothing.
func (j *Job) abandoned(ctx context.Context, s *standing) <-chan error {
	out := make(chan error, 1)
	limit := j.sessionTimeout()
	pause := min(limit/10, 10*time.Second)
	if s != nil && s.Trains != nil {
		pause = min(pause, time.Second)
	}
	go func() {
		for since, wait := time.Now(), waiting.Begin(time.Now()); ; {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			if j.anyActive(ctx) {
				since, wait = time.Now(), waiting.Begin(time.Now())
				if s != nil && s.Trains != nil {
					s.Trains()
				}
			}
			if s == nil {
				wait.Report(j.log, func() []waiting.Target { return j.absentChief(ctx, "it does not train yet") })
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

// part lets the chief save first, as long as tasks train.
func (j *Job) part(server *ps.Server) {
	last, cancel := context.WithTimeout(context.Background(), partingTime)
	defer cancel()
	defer waiting.ReportEvery(j.log, func(ctx context.Context) []waiting.Target {
		return j.absent(ctx, j.active(ctx), "it has not saved and left yet")
	})()
	go func() {
		defer cancel()
		for idle := 0; idle < 3; idle++ { // a single time may be chance: a leader that is busy or just ending
			if j.anyActive(last) {
				idle = -1
			}
			select {
			case <-time.After(membersPoll / 2):
			case <-j.node.Closing(): // it cannot be reached any more
				return
			case <-last.Done():
				return
			}
		}
	}()
	server.Linger(last)
	// Tasks that saved still have to say that they leave.
	for until := time.Now().Add(leavingTime); time.Now().Before(until) && j.anyActive(last); {
		time.Sleep(membersPoll / 4)
	}
}

// anyActive reports whether the leader knows of a task that trains.
func (j *Job) anyActive(ctx context.Context) bool { return len(j.active(ctx)) > 0 }

// active returns the tasks that train, as far as the leader knows.
func (j *Job) active(ctx context.Context) []cluster.Task {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	members, err := j.asking().Members(ctx)
	if err != nil {
		return nil
	}
	var out []cluster.Task
	for _, m := range members {
		if m.State == keyvalue.Active {
			out = append(out, m.Task)
		}
	}
	return out
}

// Release tells parameter servers that training is over, for a chief that has found
// nothing left to do at that step. Servers that do not answer have already ended.
func Release(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, step int64) error {
	j, err := open(rc, log, false)
	if err != nil {
		return err
	}
	client := ps.NewClient(ps.ClientConfig{Client: j.node, Servers: j.servers, Log: log})
	ctx, cancel := context.WithTimeout(ctx, j.rejoinTimeout())
	defer cancel()
	if err := client.Finish(ctx, ps.Outcome{Reason: "max_steps", GlobalStep: step}); err != nil {
		log.Warn("parameter servers were not informed that training is over", "error", err)
	}
	return j.Close()
}
