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

// TokenVariable is the environment variable whose value, if set, every task of a job
// requires from its callers.
const TokenVariable = "GOESTIMATOR_JOB_TOKEN"

// Job is this task's membership in a cluster: its node, and the key-value store that
// the tasks share.
type Job struct {
	config    runconfig.RunConfig
	node      *cluster.Node
	mu        sync.Mutex // guards store and leader, which change in an elastic job
	store     store
	leader    cluster.Task
	own       *keyvalue.Store // this task's; nil if it never leads
	workers   []cluster.Task  // by rank; nil if unknown
	servers   []cluster.Task  // parameter servers
	rank      int
	links     *collective.Endpoint
	positions *positions
	functions *remote.Server
	log       *slog.Logger
}

// store has all parts of the key-value store.
type store interface {
	keyvalue.KeyValue
	keyvalue.Regrouper
	keyvalue.Pulse
}

// Join makes this process the task of a cluster that its RunConfig names. Until Close it
// listens at the task's address and serves the other tasks.
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

// jobName returns the name of the task's job, "" for none. Programs that read no config
// file take it from the environment.
func jobName(rc runconfig.RunConfig) string {
	return cmp.Or(rc.JobID(), os.Getenv(runconfig.EnvName("run.job_id")))
}

// open listens, but does not serve yet.
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

// security returns how connections between tasks are secured.
func (j *Job) security() cluster.Security { return Security(j.config.Connections()) }

// Security returns how a task's connections are secured, including the job token of the environment.
func Security(rpc runconfig.RPC) cluster.Security {
	return cluster.Security{Mode: rpc.Security, CA: rpc.CAFile, Cert: rpc.CertFile, Key: rpc.KeyFile,
		ClientAuth: rpc.ClientAuth, ServerName: rpc.ServerName, Token: os.Getenv(TokenVariable)}
}

// serve registers services, on the leader including the key-value store, and begins to serve.
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

// ownTime bounds how long a starting task checks whether another process answers at its address.
const ownTime = 2 * time.Second

// Close leaves the cluster.
func (j *Job) Close() error { return j.node.Close() }

// Rank returns this task's number among the tasks that train, -1 for others.
func (j *Job) Rank() int { return j.rank }

// leads reports whether this task has the key-value store.
func (j *Job) leads() bool { return j.node.Task() == j.leading() }

// chief reports whether this task restores and saves.
func (j *Job) chief() bool {
	if j.elastic() {
		return j.leads()
	}
	return j.config.IsChief()
}

// chiefTask returns the chief, if the workers are known.
func (j *Job) chiefTask() cluster.Task {
	switch {
	case j.elastic():
		return j.leading()
	case len(j.workers) > 0:
		return j.workers[0]
	}
	return cluster.Task{}
}

// sessionTimeout is how long a starting task waits for the others.
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

// workers lists the tasks that train, by rank: the chief, then the workers.
func workers(spec runconfig.ClusterSpec) []cluster.Task {
	out := tasks(spec, runconfig.Chief)
	out = append(out, tasks(spec, runconfig.Master)...)
	return append(out, tasks(spec, runconfig.Worker)...)
}

// leader returns the task with the key-value store: the first parameter server or, without
// any, the first worker.
func leader(servers, workers []cluster.Task) cluster.Task {
	if len(servers) > 0 {
		return servers[0]
	}
	if len(workers) > 0 {
		return workers[0]
	}
	return cluster.Task{}
}

// damaged returns the error of a task whose communication with another was corrupted and
// that must be started again; nil if err is any other error.
func damaged(err error) error {
	if !errors.Is(err, cluster.ErrDamaged) || errors.Is(err, ErrPeerLost) {
		return nil
	}
	return lost("this task has to be started again", err)
}

// lost turns the loss of a peer past its deadline into the error that callers act on.
func lost(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, ErrPeerLost, err)
}
