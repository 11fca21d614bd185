package distribute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/runconfig"
)

// TokenVariable is the environment variable whose value, where set, every task
// of a job requires of those that call it.
const TokenVariable = "GOESTIMATOR_JOB_TOKEN"

// Job is this task's membership in a cluster: its node, and the key-value store that
// the tasks share.
type Job struct {
	config    runconfig.RunConfig
	node      *cluster.Node
	mu        sync.Mutex // guards store and leader, which change in an elastic job
	store     store
	leader    cluster.Task
	own       *keyvalue.Store // of this task; nil where it never leads
	workers   []cluster.Task  // by rank; nil where they are not known
	servers   []cluster.Task  // parameter servers
	rank      int
	links     *collective.Endpoint
	positions *positions
	functions *remote.Server
	log       *slog.Logger
}

// store is the key-value store in all its parts.
type store interface {
	keyvalue.KeyValue
	keyvalue.Regrouper
	keyvalue.Pulse
}

// Join makes this process the task of a cluster that its RunConfig names: it
// listens at the task's address and serves the other tasks, until Close.
func Join(rc runconfig.RunConfig, log *slog.Logger) (*Job, error) {
	j, err := open(rc, log, false)
	if err != nil {
		return nil, err
	}
	if err := j.serve(j.positions.service(), j.functions.Service()); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// jobName is the name of the job that a task belongs to, "" for none. Programs that
// read no config file take it from the environment, too.
func jobName(rc runconfig.RunConfig) string {
	return cmp.Or(rc.JobID(), os.Getenv(runconfig.EnvName("run.job_id")))
}

// open listens, but serves nobody yet.
func open(rc runconfig.RunConfig, log *slog.Logger, anyJob bool) (*Job, error) {
	return openAt(nil, rc, log, anyJob)
}

// openAt is open at a listener; nil: at the task's address.
func openAt(l net.Listener, rc runconfig.RunConfig, log *slog.Logger, anyJob bool) (*Job, error) {
	j := &Job{config: rc, log: log, rank: rc.WorkerRank(), positions: newPositions(), functions: remote.NewServer()}
	spec := rc.ClusterSpec()
	j.servers = tasks(spec, runconfig.PS)
	if !spec.Sparse() {
		j.workers = workers(spec)
	}
	j.leader = leader(j.servers, j.workers)
	self := cluster.Task{Job: rc.TaskType(), Index: rc.TaskID()}
	address, _ := spec.Address(self.Job, self.Index)
	rpc := rc.Connections()
	var err error
	j.node, err = cluster.Open(cluster.Config{
		Task: self, Address: address, Listener: l, Spec: spec, Log: log,
		JobName: jobName(rc), AnyJob: anyJob, Security: j.security(),
		CallTimeout: seconds(rpc.CallTimeoutSecs), PeerTimeout: seconds(rpc.PeerTimeoutSecs), MaxMessageBytes: rpc.MaxMessageMB << 20,
	})
	return j, err
}

// security is the security of the connections between tasks.
func (j *Job) security() cluster.Security { return Security(j.config.Connections()) }

// Security is how a task's connections are secured, the job token of the environment included.
func Security(rpc runconfig.RPC) cluster.Security {
	return cluster.Security{Mode: rpc.Security, CA: rpc.CAFile, Cert: rpc.CertFile, Key: rpc.KeyFile,
		ClientAuth: rpc.ClientAuth, ServerName: rpc.ServerName, Token: os.Getenv(TokenVariable)}
}

// serve registers services, the key-value store among them on the leader, and begins.
func (j *Job) serve(services ...cluster.Service) error {
	if self := j.node.Task(); j.leads() || j.elastic() {
		j.own = keyvalue.NewStore(keyvalue.Options{Self: cluster.Peer{Task: self, Incarnation: j.node.Incarnation()}})
		services = append(services, j.own.Service())
	}
	j.follow(j.leader)
	for _, s := range services {
		if err := j.node.Register(s); err != nil {
			return err
		}
	}
	var err error
	if j.links, err = collective.Attach(j.node); err != nil {
		return err
	}
	j.node.Serve()
	ctx, cancel := context.WithTimeout(context.Background(), ownTime)
	defer cancel()
	return j.node.CheckOwn(ctx)
}

// ownTime bounds how long a task that starts looks whether another process answers at its address.
const ownTime = 2 * time.Second

// Close leaves the cluster.
func (j *Job) Close() error { return j.node.Close() }

// Rank is this task's number among those that train, -1 for others.
func (j *Job) Rank() int { return j.rank }

// leads reports whether this task holds the key-value store.
func (j *Job) leads() bool { return j.node.Task() == j.leading() }

// chief reports whether this task is the one that restores and saves.
func (j *Job) chief() bool {
	if j.elastic() {
		return j.leads()
	}
	return j.config.IsChief()
}

// chiefTask is the chief, where the workers are known.
func (j *Job) chiefTask() cluster.Task {
	switch {
	case j.elastic():
		return j.leading()
	case len(j.workers) > 0:
		return j.workers[0]
	}
	return cluster.Task{}
}

// sessionTimeout is how long a task waits for the others when it starts.
func (j *Job) sessionTimeout() time.Duration {
	return time.Duration(j.config.SessionCreationTimeoutSecs()) * time.Second
}

// rejoinTimeout is how long the others wait for a task that was lost.
func (j *Job) rejoinTimeout() time.Duration { return seconds(j.config.Connections().RejoinSecs) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// tasks lists the tasks of one job.
func tasks(spec runconfig.ClusterSpec, job string) []cluster.Task {
	var out []cluster.Task
	for _, i := range spec.Tasks(job) {
		out = append(out, cluster.Task{Job: job, Index: i})
	}
	return out
}

// workers lists the tasks that train by their ranks: the chief, then the workers.
func workers(spec runconfig.ClusterSpec) []cluster.Task {
	out := tasks(spec, runconfig.Chief)
	out = append(out, tasks(spec, runconfig.Master)...)
	return append(out, tasks(spec, runconfig.Worker)...)
}

// leader is the task that holds the key-value store: the first parameter server, or
// else the first worker.
func leader(servers, workers []cluster.Task) cluster.Task {
	if len(servers) > 0 {
		return servers[0]
	}
	if len(workers) > 0 {
		return workers[0]
	}
	return cluster.Task{}
}

// damaged is the error of a task whose exchange with another was damaged, and that
// is to be started again; nil where err is another.
func damaged(err error) error {
	if !errors.Is(err, cluster.ErrDamaged) || errors.Is(err, ErrPeerLost) {
		return nil
	}
	return lost("this task has to be started again", err)
}

// lost turns the loss of a peer past its deadline into what callers act on.
func lost(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, ErrPeerLost, err)
}
