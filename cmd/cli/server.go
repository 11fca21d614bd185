package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/spf13/cobra"
)

// serverCommand runs one task of a cluster that is given by flags; serve is
// [distribute.ServeJobs].
func (a *app) serverCommand(serve func(context.Context, runconfig.RunConfig, *slog.Logger) error) *cobra.Command {
	var cluster string
	var task replica.Task
	var f configFlags
	cmd := &cobra.Command{
		Use:   "server --cluster-spec CLUSTER --task-index INDEX",
		Short: "run a standing parameter server",
		Long: `Runs a parameter server whose cluster is given by flags instead of TF_CONFIG. It
holds whatever variables the chief creates, so it needs no model and no data, and
serves one job after the other, until a signal ends it. The chief that comes first
has it until its training is over, or nobody has trained for
run.session_creation_timeout_secs; other jobs are refused meanwhile. With run.job_id
it serves jobs of that name alone. How tasks connect (rpc.security and the others)
is taken from --config, --set and the environment; the tasks of a cluster must
agree in it.`,
		Example: `  goestimator server --cluster-spec 'chief|a:2222,worker|b:2222;c:2222,ps|d:2222;e:2222' --job-name ps --task-index 1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("unexpected argument %q", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			rc, err := serverRunConfig(cluster, task, f)
			if err != nil {
				return usage(err)
			}
			return serve(cmd.Context(), rc, a.log)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&cluster, "cluster-spec", "", "tasks of all jobs: 'worker|host:port;host:port,ps|host:port'")
	flags.StringVar(&task.Type, "job-name", replica.PS, "job of this task: ps")
	flags.IntVar(&task.Index, "task-index", 0, "index of this task in its job")
	f.addSources(cmd)
	completeValues(cmd, "job-name", replica.PS)
	return cmd
}

// serverRunConfig is the configuration of a task of the cluster that flags give.
func serverRunConfig(cluster string, task replica.Task, f configFlags) (runconfig.RunConfig, error) {
	var none runconfig.RunConfig
	if cluster == "" {
		return none, errors.New("--cluster-spec is not set: expected for example 'worker|a:2222;b:2222,ps|c:2222'")
	}
	jobs, err := parseClusterSpec(cluster)
	if err != nil {
		return none, fmt.Errorf("--cluster-spec: %w", err)
	}
	if task.Type != replica.PS {
		return none, fmt.Errorf("--job-name: got %q, expected ps: the other tasks run the training program", task.Type)
	}
	if task.Index < 0 || task.Index >= len(jobs[task.Type]) {
		return none, fmt.Errorf("--task-index: got %d, expected 0 to %d, the ps tasks of --cluster-spec", task.Index, len(jobs[task.Type])-1)
	}
	text := replica.TFConfig(jobs, task)
	if text == "" {
		return none, errors.New("--cluster-spec: got a single ps, expected a chief or workers too")
	}
	cfg, err := config.Load(config.LoadOptions{
		Path: f.path,
		Sets: append(slices.Clone(f.sets), "run.cluster_resolver=tf_config"),
		Env:  append(withoutTFConfig(os.Environ()), "TF_CONFIG="+text),
	})
	if err != nil {
		return none, err
	}
	return cfg.RunConfig()
}

func withoutTFConfig(environ []string) []string {
	return slices.DeleteFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, "TF_CONFIG=") })
}
