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

// leavingTime is how long it waits then for tasks to leave.
const leavingTime = 2 * time.Second

// Serve runs this task, a parameter server of the cluster that rc names, until
// the chief says that training is over, or ctx ends; that is its error then.
func Serve(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger) error {
	return serveJob(ctx, rc, log, nil)
}

// ServeJobs is Serve for a server that stands: it serves one job after the other
// until ctx ends. The chief that begins a session first holds it for its job, until
// that is over or nobody has trained for the session creation timeout. Without a
// name of a job in rc, that may be any.
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

// Standing says what a server that stands does beside serving jobs. The zero value: nothing.
type Standing struct {
	// Tasks returns the listener of the next job; nil: a port at the task's address, which is opened anew for each job.
	Tasks func() net.Listener
	// Register adds what the port serves besides; nil: nothing.
	Register func(grpc.ServiceRegistrar)
	// Trains is called again and again while somebody trains; nil: nobody wants to know.
	Trains func()
}

// standing is what a server that stands keeps from one job to the next.
type standing struct {
	Standing
	former *End // of the latest job; nil: there was none
}

// tasks is the listener of the next job, nil for a port of its own.
func (s *standing) tasks() net.Listener {
	if s == nil || s.Tasks == nil {
		return nil
	}
	return s.Tasks()
}

// serveJob is Serve; s is nil where the server does not stand.
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

// ended tells tasks that come late what became of the training: at once, for a while,
// or, where the server stands, as long as it serves the next job.
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

// outcome is what the chief said at the end of the job.
func (j *Job) outcome(server *ps.Server) End {
	o := server.Outcome()
	return End{Job: j.node.Job(), Code: o.Code, GlobalStep: o.GlobalStep, Reason: o.Reason, At: time.Now()}
}

// abandoned tells when nobody has trained for as long as a session may take to begin.
// That a server which stands waits for a job is nothing to tell.
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

// part lets the chief save first, as long as anybody trains.
func (j *Job) part(server *ps.Server) {
	last, cancel := context.WithTimeout(context.Background(), partingTime)
	defer cancel()
	defer waiting.ReportEvery(j.log, func(ctx context.Context) []waiting.Target {
		return j.absent(ctx, j.active(ctx), "it has not saved and left yet")
	})()
	go func() {
		defer cancel()
		for idle := 0; idle < 3; idle++ { // once may be by chance: a leader that is busy, or just ends
			if j.anyActive(last) {
				idle = -1
			}
			select {
			case <-time.After(membersPoll / 2):
			case <-j.node.Closing(): // nobody reaches it any more
				return
			case <-last.Done():
				return
			}
		}
	}()
	server.Linger(last)
	// Those that saved have still to tell that they leave.
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

// Release tells parameter servers that training is over, on behalf of a chief
// that has found nothing left to do at that step. Servers that are not there are done already.
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
