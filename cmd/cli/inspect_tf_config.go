package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/spf13/cobra"
)

func (a *app) inspectTFConfigCommand() *cobra.Command {
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use:   "tf-config [FILE|-]",
		Short: "say what role a TF_CONFIG gives",
		Long: `Says how a TF_CONFIG is understood: the role of this task, the cluster, and what
follows from them. It is read from the environment, a FILE, or standard input
(-). Everything that is wrong in it is listed, one line each.`,
		Example: `  TF_CONFIG='{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}' \
    goestimator inspect tf-config`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("unexpected argument %q", args[1]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := tfConfigText(cmd.InOrStdin(), args)
			if err != nil {
				return usage(err)
			}
			if strings.TrimSpace(text) == "" {
				a.log.Info("TF_CONFIG is empty or not set: what follows are the defaults of a single process")
			}
			rc, err := runconfig.FromTFConfig(text, runconfig.StrictTFConfig(strict))
			if err != nil {
				return a.tellViolations(err)
			}
			return a.printRole(rc, asJSON)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "refuse the forms that tf.estimator refuses, as run.strict_tf_config does")
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func tfConfigText(stdin io.Reader, args []string) (string, error) {
	if len(args) == 0 {
		return os.Getenv("TF_CONFIG"), nil
	}
	if args[0] == "-" {
		b, err := atomicfile.ReadSmallFrom(stdin, "standard input")
		return string(b), err
	}
	b, err := atomicfile.ReadSmall(args[0])
	return string(b), err
}

// tellViolations prints each violation on its own line.
func (a *app) tellViolations(err error) error {
	var v *runconfig.ViolationsError
	if !errors.As(err, &v) {
		return usage(err)
	}
	for _, x := range v.Violations {
		a.complain(x.String())
	}
	return errors.Join(errReported, usage(err))
}

// roleField is one fact from TF_CONFIG.
type roleField struct {
	name  string
	value any
}

func roleFields(rc runconfig.RunConfig) []roleField {
	var global any
	if id, ok := rc.GlobalID(); ok {
		global = id
	}
	return []roleField{
		{"task_type", rc.TaskType()}, {"task_id", rc.TaskID()}, {"is_chief", rc.IsChief()},
		{"num_workers", rc.NumWorkers()}, {"num_ps", rc.NumPS()},
		{"worker_rank", rc.WorkerRank()}, {"global_id", global},
		{"master", rc.Master()}, {"evaluation_master", rc.EvaluationMaster()},
		{"environment", rc.Environment()}, {"rpc_layer", rc.RPCLayer()},
		{"model_dir", rc.ModelDir()}, {"device_filters", rc.DeviceFilters()},
	}
}

func (a *app) printRole(rc runconfig.RunConfig, asJSON bool) error {
	c := rc.ClusterSpec()
	if asJSON {
		cluster := map[string]map[string]string{}
		for _, job := range c.Jobs() {
			cluster[job] = map[string]string{}
			for _, i := range c.Tasks(job) {
				cluster[job][fmt.Sprint(i)], _ = c.Address(job, i)
			}
		}
		out := map[string]any{"cluster": cluster, "sparse": c.Sparse()}
		for _, f := range roleFields(rc) {
			out[f.name] = f.value
		}
		return a.printJSON(out)
	}
	var b strings.Builder
	for _, f := range roleFields(rc) {
		text := strings.Trim(fmt.Sprint(f.value), "[]")
		if f.value == nil || text == "" {
			text = "none"
		}
		fmt.Fprintf(&b, "%s=%s\n", f.name, text)
	}
	if c.Len() == 0 {
		b.WriteString("cluster=none\n")
	}
	for _, job := range c.Jobs() {
		for _, i := range c.Tasks(job) {
			address, _ := c.Address(job, i)
			fmt.Fprintf(&b, "cluster %s %d %s\n", job, i, address)
		}
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
