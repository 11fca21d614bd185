package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/spf13/cobra"
)

// serverFlags are the flags of server.
type serverFlags struct {
	cluster string
	task    replica.Task
	allow   []string
	idle    time.Duration
	forget  time.Duration
	drain   int
	cpus    int
	memory  budget.Limits
	status  string
	sources configFlags
}

// serverAliases are TensorFlow's names for flags that have another name here.
var serverAliases = map[string]string{"task-id": "task-index"}

// serverCommand runs one task of a cluster that flags or TF_CONFIG describe; serve is [runServer].
func (a *app) serverCommand(serve func(context.Context, serverTask, *slog.Logger) error) *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server [--cluster-spec CLUSTER --job-name JOB --task-index INDEX]",
		Short: "run a standing task that TensorFlow's clients and training jobs use",
		Long: `Runs a task of the cluster that flags state, or TF_CONFIG where --cluster-spec is not set. It needs no model and no
data, and serves until a signal ends it, or nobody has used it for --exit-when-idle.

TensorFlow programs use it as they use tf.train.Server: any task is a master, at which
tf.compat.v1.Session("grpc://host:port") opens a session, and a worker, which runs the parts of graphs that are
placed on it. Their tasks may be mixed with TensorFlow's own servers. Clients of TensorFlow show no token and speak no TLS:
with a job token (GOESTIMATOR_JOB_TOKEN) or certificates (rpc.security and the others) they are refused.

A ps of a cluster with a chief or workers is also a parameter server of this project: it holds whatever variables the chief
creates, and serves one job after the other. The chief that comes first has it until its training is over, or nobody has
trained for run.session_creation_timeout_secs; other jobs are refused meanwhile. With run.job_id it serves jobs of that name
alone. How tasks connect is taken from --config, --set and the environment; the tasks of a cluster must agree in it.

Graphs read and write checkpoints below the folders of --allow-path alone.

Everyone who reaches the port of another task may run any graph there. A task listens on loopback where its address is of
loopback, otherwise on all interfaces, and warns.

With --status-address there are, over HTTP, a page for people (/), the same as JSON (/status.json), /healthz and metrics
(/monitoring/prometheus/metrics). They change nothing, and ask for no token.

SIGTERM or Ctrl-C drains: new steps are refused, those that run may take --drain-seconds, the rest end with UNAVAILABLE.

Exit codes: 0 drained after a signal, or idle; 1 an error, such as a port that is taken; 2 a mistake in the command line, the
config or TF_CONFIG; 130 ended by a second signal.`,
		Example: `  goestimator server --cluster-spec 'chief|a:2222,worker|b:2222;c:2222,ps|d:2222;e:2222' --job-name ps --task-index 1
  goestimator server --cluster_spec 'worker|a:2222;b:2222' --job_name worker --task_id 0
  goestimator server --cluster-spec 'local|localhost:2222' --exit-when-idle 10m --status-address :9090
  TF_CONFIG='{"cluster": {"worker": ["a:2222"], "ps": ["b:2222"]}, "task": {"type": "ps", "index": 0}}' goestimator server`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("unexpected argument %q", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.drains = true
			t, err := f.serverTask(cmd.Flags().Changed)
			if err != nil {
				return usage(err)
			}
			return serve(cmd.Context(), t, a.log)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *serverFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SetNormalizeFunc(dashes(serverAliases))
	flags.SortFlags = false
	flags.StringVar(&f.cluster, "cluster-spec", "", "tasks of all jobs: 'worker|host:port;host:port,ps|host:port'; empty: TF_CONFIG")
	flags.StringVar(&f.task.Type, "job-name", "", "job of this task (default: that of TF_CONFIG; the only job; ps)")
	flags.IntVar(&f.task.Index, "task-index", 0, "index of this task in its job; also --task-id")
	flags.StringArrayVar(&f.allow, "allow-path", nil, "folder where graphs may read and write checkpoints; may be repeated")
	flags.DurationVar(&f.idle, "exit-when-idle", 0, "end when nobody has had a session for this long, as 10m; 0: serve until a signal")
	flags.IntVar(&f.cpus, "cpu-devices", 1, "CPU devices of this task, as device_count={'CPU': N} of tf.train.Server: graphs name them /device:CPU:0 and so on")
	flags.IntVar(&f.drain, "drain-seconds", 10, "how long steps that run may take after a signal")
	flags.DurationVar(&f.forget, "forget-after", 10*time.Minute, "how long a master may be silent before what it left with this task goes")
	flags.StringVar(&f.status, "status-address", "", "host:port of a status page and metrics over HTTP; a host that is left out is localhost, port 0 a free one; empty: none")
	flags.Int64Var(&f.memory.Server, budget.ServerFlag, 0, "memory that tensors, variables, graphs and messages may hold together; 0: three quarters of the machine's or control group's")
	flags.Int64Var(&f.memory.Request, budget.SessionFlag, 0, "memory of one session; 0: as much as all sessions together")
	f.sources.addSources(cmd)
	completeValues(cmd, "job-name", replica.PS, replica.Worker, replica.Chief)
}
