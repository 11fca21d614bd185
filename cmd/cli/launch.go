package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/launcher"
	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/spf13/cobra"
)

// psTimeout is how long parameter servers may continue once all others are done:
// they end by themselves when training is over.
const psTimeout = 15 * time.Second

// restartDelay is the delay before the first restart; it doubles each time.
const restartDelay = 500 * time.Millisecond

// launchFlags are the flags of launch.
type launchFlags struct {
	job           launcher.Job
	on            string
	restart       string
	maxRestarts   int
	finishTimeout time.Duration
	logDir        string
	asJSON        bool

	name, namespace, image, volumeClaim, modelDir, cleanPods, tokenSecret string

	gpus int
}

// places are where a job may run; the first is the default.
var places = []string{"local", "kubernetes", "jobset", "trainjob", "slurm", "ray"}

// elsewhere lists the places for each flag that is not for all places.
var elsewhere = map[string][]string{
	"name": {"kubernetes", "jobset", "trainjob", "slurm", "ray"}, "model-dir": {"kubernetes", "jobset", "trainjob", "slurm", "ray"},
	"namespace": {"kubernetes", "jobset", "trainjob"}, "image": {"kubernetes", "jobset", "trainjob"}, "volume-claim": {"kubernetes", "jobset", "trainjob"},
	"gpus": {"kubernetes", "jobset", "trainjob", "ray"}, "token-secret": {"kubernetes", "jobset", "trainjob"}, "clean-pod-policy": {"kubernetes"},
	"log-dir": {"local", "slurm"}, "finish-timeout": {"local", "kubernetes", "jobset", "trainjob", "ray"}, "json": {"local"},
}

func (a *app) launchCommand() *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "launch [flags] -- COMMAND...",
		Short: "start a job's tasks on this machine, or write its manifest for Kubernetes, Slurm or Ray",
		Long: `Starts COMMAND, any program, once for each task of a job on this machine. A
program learns its role from TF_CONFIG, which is set as Kubeflow's TFJob sets it,
with a free port for each task; a job of one task has none. Each line of output
has the name of its task before it.

The job succeeds when the chief (else worker 0) exits with 0. The other tasks may
then end by themselves: parameter servers for 15 seconds after all others, the
rest for --finish-timeout; then they get SIGTERM, and SIGKILL after --grace. A
task that fails for good, whichever it is, ends the job. --restart tells when a
task is started again: exit-code does so for exit codes of 128 and more, as for
138 (a peer was lost) or 137 (killed). Ctrl-C and SIGTERM are passed on to all
tasks as SIGTERM, so that they write a checkpoint; a second signal kills them. No
task outlives this command.

With --on kubernetes, jobset, trainjob, slurm or ray nothing is started: what hands the
job over is printed, the manifest of a TFJob (Kubeflow's training operator), of a JobSet
or of a TrainJob (Kubeflow Trainer v2), a script for sbatch, or a Python driver for Ray. A manifest brings a Secret with a token that the tasks share
(GOESTIMATOR_JOB_TOKEN, where that is set), unless --token-secret names one that is
there. When the chief has succeeded, pods that still run are deleted; the chief
waits for the evaluator before it ends, for --finish-timeout at most.

Exit codes: 0 success; 2 a mistake in the command line; 143 interrupted; 130 ended
by a second signal; else that of the task that failed.`,
		Example: `  goestimator launch --chief 1 --workers 2 --ps 2 --evaluator 1 -- goestimator train --config configs/glyphs.yaml --set strategy.name=parameter_server
  goestimator launch --workers 4 --restart exit-code --log-dir logs -- ./mytrainer
  goestimator launch --on kubernetes --name glyphs --image IMAGE --chief 1 --workers 8 --ps 2 --volume-claim models --model-dir /models -- goestimator train --config glyphs.yaml | kubectl apply -f -
  goestimator launch --on jobset --name glyphs --image IMAGE --workers 4 --gpus 1 --volume-claim models --model-dir /models -- goestimator train --config glyphs.yaml --set strategy.name=multi_worker_mirrored | kubectl apply -f -
  goestimator launch --on slurm --name glyphs --workers 8 -- goestimator train --config glyphs.yaml > glyphs.sbatch
  goestimator launch --on ray --name glyphs --chief 1 --workers 2 --ps 1 --model-dir /shared/glyphs -- goestimator train --config /shared/glyphs.yaml --set strategy.name=parameter_server > glyphs_ray.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.job.Command = args
			if err := f.complete(cmd); err != nil {
				return usage(err)
			}
			switch f.on {
			case "kubernetes":
				return usage(launcher.WriteTFJob(a.stdout, f.kubernetes(cmd)))
			case "jobset":
				return usage(launcher.WriteJobSet(a.stdout, f.kubernetes(cmd)))
			case "trainjob":
				return usage(launcher.WriteTrainJob(a.stdout, f.kubernetes(cmd)))
			case "slurm":
				return usage(launcher.WriteSbatch(a.stdout, launcher.Slurm{Job: f.job, Name: f.name, LogDir: f.logDir, ModelDir: f.modelDir, MaxRestarts: f.maxRestarts}))
			case "ray":
				return usage(launcher.WriteRay(a.stdout, launcher.Ray{Job: f.job, Name: f.name, ModelDir: f.modelDir, GPUs: f.gpus, MaxRestarts: f.maxRestarts, FinishTimeout: f.finishTimeout}))
			}
			return a.launch(cmd.Context(), f)
		},
	}
	f.define(cmd)
	return cmd
}

func (f *launchFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SetInterspersed(false) // flags after COMMAND are its own
	flags.SortFlags = false
	flags.IntVar(&f.job.Chiefs, "chief", 0, "number of chiefs, 0 or 1; with 0, worker 0 takes the part")
	flags.IntVar(&f.job.Workers, "workers", 0, "number of workers")
	flags.IntVar(&f.job.PS, "ps", 0, "number of parameter servers")
	flags.IntVar(&f.job.Evaluators, "evaluator", 0, "number of evaluators, 0 or 1")
	flags.StringVar(&f.restart, "restart", "never", "when a task is started again: never, on-failure, exit-code or always; elsewhere the default is exit-code")
	flags.IntVar(&f.maxRestarts, "max-restarts", 10, "how often one task is started again; of a TFJob (without a bound there, if not given) or on Slurm or Ray, of the whole job")
	flags.IntVar(&f.job.CoresPerTask, "cores-per-task", 0, "cores that each task shall use (GOMAXPROCS, OMP_NUM_THREADS); 0: it decides")
	flags.DurationVar(&f.job.Grace, "grace", 30*time.Second, "time to write a checkpoint, from SIGTERM to SIGKILL")
	flags.DurationVar(&f.finishTimeout, "finish-timeout", 5*time.Minute, "time that the others have to end by themselves after success, as the evaluator for its last evaluation; on Kubernetes the evaluator alone")
	flags.StringVar(&f.logDir, "log-dir", "", "folder for a log file of each task")
	addJSONFlag(cmd, &f.asJSON)
	flags.StringVar(&f.on, "on", places[0], "where: local, kubernetes (a TFJob), jobset, trainjob, slurm or ray")
	flags.StringVar(&f.name, "name", "goestimator", "name of the job on Kubernetes, Slurm or Ray")
	flags.StringVar(&f.modelDir, "model-dir", "", "model_dir of all tasks on Kubernetes, Slurm or Ray, in place of the config's")
	flags.StringVar(&f.namespace, "namespace", "", "namespace on Kubernetes")
	flags.StringVar(&f.image, "image", "", "container image on Kubernetes")
	flags.StringVar(&f.volumeClaim, "volume-claim", "", "persistent volume claim on Kubernetes, mounted at --model-dir")
	flags.IntVar(&f.gpus, "gpus", 0, "NVIDIA GPUs of each task but parameter servers on Kubernetes or Ray")
	flags.StringVar(&f.tokenSecret, "token-secret", "", "an existing Secret on Kubernetes whose key token the tasks share; empty: the manifest brings one")
	flags.StringVar(&f.cleanPods, "clean-pod-policy", "Running", "which pods are deleted when a TFJob is done: None, Running or All")
	completeValues(cmd, "on", places...)
	completeValues(cmd, "restart", "never", "on-failure", "exit-code", "always")
	completeValues(cmd, "clean-pod-policy", "None", "Running", "All")
	completeFolders(cmd, "log-dir", "model-dir")
}

// complete checks what the launcher cannot, and fills in defaults.
func (f *launchFlags) complete(cmd *cobra.Command) error {
	if !slices.Contains(places, f.on) {
		return fmt.Errorf("--on: got %q, expected one of %s", f.on, strings.Join(places, ", "))
	}
	for flag, where := range elsewhere {
		if cmd.Flags().Changed(flag) && !slices.Contains(where, f.on) {
			return fmt.Errorf("--%s does not go with --on %s: it is for %s", flag, f.on, strings.Join(where, " or "))
		}
	}
	if f.on != "local" && !cmd.Flags().Changed("restart") {
		f.restart = "exit-code"
	}
	if f.maxRestarts < 0 || f.finishTimeout < 0 {
		return errors.New("--max-restarts and --finish-timeout: expected 0 or more")
	}
	policy, err := replica.ParseRestartPolicy(f.restart)
	if err != nil {
		return fmt.Errorf("--restart: %w", err)
	}
	f.job.Restart = policy
	return f.job.Validate()
}

func (f *launchFlags) kubernetes(cmd *cobra.Command) launcher.Kubernetes {
	k := launcher.Kubernetes{
		Job: f.job, Name: f.name, Namespace: f.namespace, Image: f.image, VolumeClaim: f.volumeClaim, ModelDir: f.modelDir,
		GPUs: f.gpus, CleanPods: f.cleanPods, MaxRestarts: -1, TokenSecret: f.tokenSecret, Token: os.Getenv(launcher.TokenEnv), EvaluatorWait: f.finishTimeout,
	}
	if cmd.Flags().Changed("max-restarts") {
		k.MaxRestarts = f.maxRestarts
	}
	return k
}

// launch runs the job on this machine.
func (a *app) launch(ctx context.Context, f launchFlags) error {
	command, err := a.findCommand(f.job.Command)
	if err != nil {
		return usage(err)
	}
	f.job.Command = command
	kill := make(chan struct{})
	defer a.onSecondSignal(func() { close(kill) })()
	outcomes, err := launcher.Run(ctx, launcher.Local{
		Job: f.job, Environ: os.Environ(), MaxRestarts: f.maxRestarts, FirstDelay: restartDelay,
		FinishTimeout: f.finishTimeout, PSTimeout: psTimeout, LogDir: f.logDir,
		Stdout: a.stdout, Stderr: a.stderr, Color: a.logs.color && colorful(a.stdout), Records: a.logs.json, Log: a.log, Kill: kill,
	})
	err = launchError(err)
	if f.asJSON && outcomes != nil {
		code := exitDone
		if err != nil {
			code = exitCode(err)
		}
		if e := a.printJSON(map[string]any{"success": err == nil, "exit_code": code, "tasks": outcomes}); err == nil {
			err = e
		}
	}
	return err
}

// launchError gives launcher errors their exit codes.
func launchError(err error) error {
	var task *launcher.TaskError
	switch {
	case errors.As(err, &task):
		return &codeError{task.Code, err}
	case errors.Is(err, launcher.ErrKilled):
		return &codeError{exitAtOnce, err}
	case errors.Is(err, launcher.ErrInterrupted):
		return &codeError{exitInterrupted, err}
	}
	return err
}

// findCommand finds the program. The name of this program stands for this very
// binary if it is not in PATH.
func (a *app) findCommand(command []string) ([]string, error) {
	path, err := exec.LookPath(command[0])
	if err != nil && command[0] == a.name {
		path, err = os.Executable()
	}
	if err != nil && slices.Contains([]string{"train", "evaluate", "predict", "server"}, command[0]) {
		return nil, usage(fmt.Errorf("command %q: no program: to start a command of this one, name it, too, as in: -- %s %s", command[0], a.name, command[0]))
	}
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", command[0], errors.Unwrap(err))
	}
	return append([]string{path}, command[1:]...), nil
}
