package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/bucket"
	"github.com/goestimator/goestimator/internal/platform/registry"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/spf13/cobra"
)

// app is one invocation of the command line.
type app struct {
	name   string // of the binary
	models *registry.Registry[estimator.ModelFn]
	gpus   gpus.Source
	inputs *registry.Registry[estimator.InputFn]
	steps  *registry.Registry[inputs.TransformFunc]
	stdin  *inputs.Stream
	stdout io.Writer
	stderr *console
	log    *slog.Logger
	logs   logs
	last   lastResort
	drains bool // a signal ends the command with success: it finishes what it has begun

	buckets bucket.Shared // shared by everything that writes predictions
}

// Option adds something of the user's to the command line.
type Option func(*app) error

// WithModel makes a model_fn available as model.name in config files.
func WithModel(name string, fn estimator.ModelFn) Option {
	return func(a *app) error {
		if fn == nil {
			return fmt.Errorf("register model %q: expected a model_fn", name)
		}
		return a.models.Register(name, fn)
	}
}

// WithInput makes an input_fn available as input.format in config files. The Spec of its
// context is the section that names it: its params and all other keys.
func WithInput(format string, fn estimator.InputFn) Option {
	return func(a *app) error {
		if fn == nil {
			return fmt.Errorf("register input %q: expected an input_fn", format)
		}
		return a.inputs.Register(format, fn)
	}
}

// WithTransform makes a step for rows available as the kind of an entry of input.transforms in config files; the step gets the entry's params.
// FlatMap, Filter and Map of package inputs make steps of functions.
func WithTransform(kind string, f inputs.TransformFunc) Option {
	return func(a *app) error {
		if f == nil {
			return fmt.Errorf("register transform %q: expected a function", kind)
		}
		return a.steps.Register(kind, f)
	}
}

// WithName sets the name of the binary in help and errors; the default is goestimator.
func WithName(name string) Option {
	return func(a *app) error { a.name = name; return nil }
}

// Main runs the command line of this process and exits. A binary, or a link to it, named tensorflow_model_server takes TensorFlow Serving's flags.
func Main(opts ...Option) {
	args, server := asModelServer(os.Args[0], os.Args[1:])
	if server {
		opts = append(opts, WithName(modelServer))
	}
	os.Exit(Run(context.Background(), args, os.Stdout, os.Stderr, opts...))
}

// Run runs a command line and returns the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, opts ...Option) (code int) {
	out := &printed{Writer: stdout}
	a := &app{name: "goestimator", gpus: gpus.CUDA(), models: registry.New[estimator.ModelFn]("model", nil),
		inputs: registry.New[estimator.InputFn]("input", nil), steps: registry.New[inputs.TransformFunc]("transform", nil),
		stdin: inputs.NewStream(os.Stdin), stdout: out, stderr: &console{out: stderr}}
	a.logs.color = colorful(stderr)
	defer func() {
		if p := recover(); p != nil {
			code = a.panicked(p, debug.Stack())
		}
	}()
	defer slog.SetDefault(slog.Default())
	a.startLog()
	for _, o := range opts {
		if err := o(a); err != nil {
			return a.fail(usage(err))
		}
	}
	root := a.root()
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.logs.json = a.logs.json || asksForJSON(args) // flags after the mistake were not read
		return flagError(cmd, err)
	})
	root.SetOut(out)
	root.SetErr(a.stderr)
	ctx, stop := withSignals(ctx, &a.last)
	defer stop()
	unknown := helpOfCommands(root)
	err := cmp.Or(root.ExecuteContext(ctx), *unknown)
	if err == nil && ctx.Err() == nil {
		err = out.lost()
	}
	return a.end(ctx, err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:              a.name,
		Short:            "train, evaluate and serve models",
		SilenceErrors:    true,
		SilenceUsage:     true,
		Version:          a.thisBuild().String(),
		Args:             onlyCommands,
		PersistentPreRun: func(*cobra.Command, []string) { a.startLog() },
		RunE:             func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	a.logs.add(root.PersistentFlags())
	completeValues(root, "log-format", "text", "json")
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true // ours reports misspelt arguments
	root.AddCommand(a.initCommand(), a.trainCommand(), a.evaluateCommand(), a.predictCommand(), a.sweepCommand(), a.crossvalCommand(), a.tuneCommand(),
		a.exportCommand(), a.inspectCommand(), a.reportCommand(), a.watchCommand(), a.runsCommand(), a.doctorCommand(), a.launchCommand(), a.tfConfigCommand(), a.dataCommand(), a.serverCommand(runServer), a.serveCommand(),
		a.versionCommand(), a.completionCommand())
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Short, c.Long, c.Args = "show what a command does and its flags", "Shows what a command does, its flags and examples.", helpTopic
		}
	}
	completeNoFiles(root)
	return root
}
