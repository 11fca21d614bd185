package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/server"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/spf13/cobra"
)

// serverTask is the task that the command server runs.
type serverTask struct {
	cluster runconfig.ClusterSpec
	job     string
	index   int
	// config is the configuration of a parameter server of clusters with trainers: it serves jobs of this project, too. nil for other tasks.
	config *runconfig.RunConfig
	// allow are the folders where graphs may read and write checkpoints.
	allow []string
}

// serverAliases are TensorFlow's names of flags that have another one here.
var serverAliases = map[string]string{"task-id": "task-index"}

// serverCommand runs one task of a cluster whose tasks are listed in flags; serve is [runServer].
func (a *app) serverCommand(serve func(context.Context, serverTask, *slog.Logger) error) *cobra.Command {
	var cluster string
	var allow []string
	var task replica.Task
	var f configFlags
	cmd := &cobra.Command{
		Use:   "server --cluster-spec CLUSTER --job-name JOB --task-index INDEX",
		Short: "run a standing task that TensorFlow's clients and training jobs use",
		Long: `Runs a task of a cluster that is stated by flags instead of TF_CONFIG. It needs no model and no data, and serves
until a signal ends it.

TensorFlow programs use it as they use tf.train.Server: any task is a master, at which
tf.compat.v1.Session("grpc://host:port") opens a session, and a worker, which runs the parts of graphs that are
placed on it. Their tasks may be mixed with TensorFlow's own servers. Clients of TensorFlow show no token and speak no TLS:
with a job token or certificates they are refused.

A ps of a cluster with a chief or workers is also a parameter server of this project: it holds whatever variables the chief
creates, and serves one job after the other. The chief that comes first has it until its training is over, or nobody has
trained for run.session_creation_timeout_secs; other jobs are refused meanwhile. With run.job_id it serves jobs of that name
alone. How tasks connect (rpc.security and the others) is taken from --config, --set and the environment; the tasks of
a cluster must agree in it.

Graphs read and write checkpoints below the folders of --allow-path alone.

Everyone who reaches the port of another task may run any graph there. Where the address is not of loopback, a warning says so.`,
		Example: `  goestimator server --cluster-spec 'chief|a:2222,worker|b:2222;c:2222,ps|d:2222;e:2222' --job-name ps --task-index 1
  goestimator server --cluster_spec 'worker|a:2222;b:2222' --job_name worker --task_id 0
  goestimator server --cluster-spec 'local|localhost:2222' --job-name local`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("unexpected argument %q", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := newServerTask(cluster, task, f)
			if err != nil {
				return usage(err)
			}
			t.allow = allow
			return serve(cmd.Context(), t, a.log)
		},
	}
	flags := cmd.Flags()
	flags.SetNormalizeFunc(dashes(serverAliases))
	flags.StringVar(&cluster, "cluster-spec", "", "tasks of all jobs: 'worker|host:port;host:port,ps|host:port'")
	flags.StringVar(&task.Type, "job-name", replica.PS, "job of this task")
	flags.IntVar(&task.Index, "task-index", 0, "index of this task in its job; also --task-id")
	flags.StringArrayVar(&allow, "allow-path", nil, "folder where graphs may read and write checkpoints; may be repeated")
	f.addSources(cmd)
	completeValues(cmd, "job-name", replica.PS, replica.Worker, replica.Chief)
	return cmd
}

// newServerTask is the task of the cluster that flags state.
func newServerTask(cluster string, task replica.Task, f configFlags) (t serverTask, err error) {
	if cluster == "" {
		return t, errors.New("--cluster-spec is not set: expected for example 'worker|a:2222;b:2222,ps|c:2222'")
	}
	jobs, err := parseClusterSpec(cluster)
	if err != nil {
		return t, fmt.Errorf("--cluster-spec: %w", err)
	}
	if jobs[task.Type] == nil {
		return t, fmt.Errorf("--job-name: job name %q does not appear in the cluster spec: expected one of %s", task.Type, strings.Join(slices.Sorted(maps.Keys(jobs)), ", "))
	}
	if n := len(jobs[task.Type]); task.Index < 0 || task.Index >= n {
		return t, fmt.Errorf("--task-index: task index %d is invalid (job %q contains %d tasks)", task.Index, task.Type, n)
	}
	t = serverTask{cluster: runconfig.NewClusterSpec(jobs), job: task.Type, index: task.Index}
	if text := replica.TFConfig(jobs, task); text != "" && task.Type == replica.PS && trains(jobs) {
		t.config, err = serverRunConfig(text, f)
	}
	return t, err
}

// trains reports whether a cluster has tasks that train, and no job that this project does not know.
func trains(jobs map[string][]string) bool {
	for job := range jobs {
		if !slices.Contains([]string{replica.Chief, replica.Master, replica.Worker, replica.PS, replica.Evaluator}, job) {
			return false
		}
	}
	return jobs[replica.Chief] != nil || jobs[replica.Master] != nil || jobs[replica.Worker] != nil
}

// serverRunConfig is the configuration of a parameter server.
func serverRunConfig(tfConfig string, f configFlags) (*runconfig.RunConfig, error) {
	cfg, err := config.Load(config.LoadOptions{
		Path: f.path,
		Sets: append(slices.Clone(f.sets), "run.cluster_resolver=tf_config"),
		Env:  append(withoutTFConfig(os.Environ()), "TF_CONFIG="+tfConfig),
	})
	if err != nil {
		return nil, err
	}
	rc, err := cfg.RunConfig()
	return &rc, err
}

func withoutTFConfig(environ []string) []string {
	return slices.DeleteFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, "TF_CONFIG=") })
}

// runServer serves as a task until ctx ends.
func runServer(ctx context.Context, t serverTask, log *slog.Logger) error {
	s, err := server.New(server.Config{Cluster: t.cluster, Job: t.job, Task: t.index, Log: log, AllowPaths: t.allow})
	if err != nil {
		return err
	}
	if t.config != nil {
		return errors.Join(distribute.ServeJobs(ctx, *t.config, log, s.Register), s.Close())
	}
	address, _ := t.cluster.Address(t.job, t.index)
	l, err := net.Listen("tcp", cluster.ListenAddress(address))
	if err != nil {
		return errors.Join(fmt.Errorf("task %d of job %q cannot listen at %s: %w", t.index, t.job, address, err), s.Close())
	}
	if host, _, err := net.SplitHostPort(address); err == nil && !runconfig.Loopback(host) {
		log.Warn("the task listens on all interfaces: everyone who reaches the port may run any graph", "address", l.Addr().String())
	}
	log.Info("serving sessions", "job", t.job, "task", t.index, "address", l.Addr().String(), "target", "grpc://"+address)
	return errors.Join(s.Serve(ctx, l), s.Close())
}
