package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/gpus"
	"github.com/spf13/cobra"
)

// app is one invocation of the command line.
type app struct {
	name   string // of the binary
	models estimator.Registry
	gpus   gpus.Source
	inputs map[string]estimator.InputFn
	stdout io.Writer
	stderr *console
	log    *slog.Logger
	bars   bool // standard error is a terminal: progress bars instead of lines
	last   lastResort
}

// Option adds something of the user's to the command line.
type Option func(*app) error

// WithModel makes a model_fn available as model.name in config files.
func WithModel(name string, fn estimator.ModelFn) Option {
	return func(a *app) error { return a.models.Register(name, fn) }
}

// WithInput makes an input_fn available as input.format in config files.
func WithInput(format string, fn estimator.InputFn) Option {
	return func(a *app) error {
		if _, ok := a.inputs[format]; ok || format == "" || fn == nil {
			return fmt.Errorf("input %q: expected an input_fn under a name that is not taken", format)
		}
		a.inputs[format] = fn
		return nil
	}
}

// WithName sets the name of the binary in help and errors; the default is goestimator.
func WithName(name string) Option {
	return func(a *app) error { a.name = name; return nil }
}

// Main runs the command line of this process and exits.
func Main(opts ...Option) {
	os.Exit(Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr, opts...))
}

// Run runs a command line and returns the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, opts ...Option) int {
	a := &app{name: "goestimator", gpus: gpus.CUDA(), inputs: map[string]estimator.InputFn{}, stdout: stdout, stderr: &console{out: stderr}}
	a.bars = isTerminal(stderr)
	a.log = slog.New(newLineHandler(a.stderr))
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(a.log) // for what warns without a logger of its own
	for _, o := range opts {
		if err := o(a); err != nil {
			return a.fail(usage(err))
		}
	}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(a.stderr)
	ctx, stop := withSignals(ctx, stderr, &a.last)
	defer stop()
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(interruption(ctx, err))
	}
	return exitDone
}

// fail tells the error in one line and returns its exit code.
func (a *app) fail(err error) int {
	code := exitCode(err)
	if !errors.Is(err, errQuiet) {
		fmt.Fprintln(a.stderr, a.name+": "+oneLine(err))
	}
	return code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           a.name,
		Short:         "train, evaluate and serve models",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("unknown command %q: see `goestimator help`", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(a.trainCommand(), a.evaluateCommand(), a.predictCommand(), a.exportCommand(), a.inspectCommand(), a.reportCommand(), a.doctorCommand(), a.launchCommand(), a.serverCommand(distribute.Serve), a.serveCommand())
	return root
}
