package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/server"
	"github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/platform/moment"
	"github.com/goestimator/goestimator/runconfig"
)

// errIdle is the cause when a server ends because it was not used for a while.
var errIdle = errors.New("nobody uses the server")

// runServer serves as a task until ctx ends, or until nobody uses the server any more.
func runServer(ctx context.Context, t serverTask, log *slog.Logger) error {
	between := distribute.Security(t.config)
	serve, dial, err := cluster.Credentials(between, log)
	if err != nil {
		return usage(err)
	}
	run := &standingServer{serverTask: t, log: log}
	run.noteTraining()
	page := status.New(run.state)
	c := server.Config{Cluster: t.cluster, Job: t.job, Task: t.index, CPUs: t.cpus, Log: log, AllowPaths: t.allow, Drain: t.drain, Forget: t.forget, Memory: t.memory,
		Security: server.Security{Serve: serve, Dial: dial, Token: between.Token}}
	if t.status != "" {
		c.Ended = page.Ended
	}
	if run.server, err = server.New(c); err != nil {
		return err
	}
	l, err := run.listen() // before the status page, which says that the server is up
	if err != nil {
		return errors.Join(err, run.server.Close())
	}
	if t.status == "" {
		return errors.Join(run.until(ctx, l, serve != nil), run.server.Close())
	}
	stop, err := serveStatus(t.status, page, log)
	if err != nil {
		return errors.Join(err, l.Close(), run.server.Close())
	}
	return errors.Join(run.until(ctx, l, serve != nil), stop(), run.server.Close())
}

// until serves until ctx ends, or nobody uses the server any more.
func (r *standingServer) until(ctx context.Context, l net.Listener, secured bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go boundHeap(ctx)
	if r.idle > 0 {
		go r.endIdle(ctx, cancel)
	}
	err := r.serve(ctx, l, secured)
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		r.log.Info("the server ends: nobody has used it", "for", r.idle)
		return nil
	case r.trains == nil && errors.Is(err, context.Canceled):
		return nil // drained
	}
	return err
}

// state is the state that the status page shows.
func (r *standingServer) state() status.State {
	s := r.server.State()
	b, _ := debug.ReadBuildInfo()
	s.Build = newBuild("goestimator", b).String()
	return s
}

// standingServer is a task while it serves.
type standingServer struct {
	serverTask
	server  *server.Server
	log     *slog.Logger
	trained moment.Moment // when a job of this project last trained
}

// listen opens the task's address.
func (r *standingServer) listen() (net.Listener, error) {
	address, _ := r.cluster.Address(r.job, r.index)
	l, err := net.Listen("tcp", cluster.ListenAddress(address))
	if err != nil {
		return nil, fmt.Errorf("task %d of job %q cannot listen at %s: %w", r.index, r.job, address, err)
	}
	return l, nil
}

// serve serves clients and, if this is one of their parameter servers, tasks of this project's jobs.
func (r *standingServer) serve(ctx context.Context, l net.Listener, secured bool) error {
	r.announce(l, secured)
	if r.trains == nil {
		return r.server.Serve(ctx, l)
	}
	if secured {
		return r.serveSecured(ctx, l)
	}
	split := cluster.NewSplit(cluster.Bounded(l, r.cluster.Len(), r.log))
	served := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		err := r.server.Serve(ctx, split.Foreign())
		cancel(err)
		served <- err
	}()
	err := distribute.ServeJobs(ctx, *r.trains, r.log, distribute.Standing{Tasks: split.Tasks, Trains: r.noteTraining})
	cancel(err)
	return errors.Join(err, <-served, split.Close())
}

// serveSecured is serve with TLS for a parameter server of this project's jobs: the job's node also has the server's services.
func (r *standingServer) serveSecured(ctx context.Context, l net.Listener) error {
	r.server.DrainAfter(ctx)
	split := cluster.NewSplit(r.server.Counted(l))
	err := split.Foreign().Close() // no connection begins in plaintext
	jobs := distribute.Standing{Tasks: split.Tasks, Register: r.server.Register, Trains: r.noteTraining}
	return errors.Join(distribute.ServeJobs(ctx, *r.trains, r.log, jobs), err, split.Close())
}

// announce logs the address that the task listens on.
func (r *standingServer) announce(l net.Listener, secured bool) {
	address, _ := r.cluster.Address(r.job, r.index)
	open := !secured && distribute.Security(r.config).Token == ""
	if host, _, err := net.SplitHostPort(address); err == nil && !runconfig.Loopback(host) && open {
		r.log.Warn("the task listens on all interfaces: everyone who reaches the port may run any graph", "address", l.Addr().String())
	}
	r.log.Info("serving sessions", "job", r.job, "task", r.index, "address", l.Addr().String(), "target", "grpc://"+address)
}

// noteTraining records that a job trains.
func (r *standingServer) noteTraining() { r.trained.Note() }

// endIdle ends the server when it has not been used for the task's idle time.
func (r *standingServer) endIdle(ctx context.Context, end context.CancelCauseFunc) {
	for {
		trained, _ := r.trained.Time()
		idle := min(r.server.Idle(), time.Since(trained))
		if idle >= r.idle {
			end(errIdle)
			return
		}
		select {
		case <-time.After(max(r.idle-idle, 10*time.Millisecond)):
		case <-ctx.Done():
			return
		}
	}
}
