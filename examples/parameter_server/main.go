// Command parameter_server is TensorFlow's tutorial "Parameter server training" with a custom loop: the chief
// schedules steps on three workers, with an embedding sharded over two parameter servers.
//
// Without TF_CONFIG all tasks are goroutines of this process; with it the process is one task of a cluster:
//
//	go run ./examples/parameter_server
//	go build -o /tmp/parameter_server ./examples/parameter_server
//	go run ./cmd/goestimator launch --chief 1 --workers 3 --ps 2 --evaluator 1 -- /tmp/parameter_server -model-dir runs/parameter_server
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/distribute/inprocess"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/runconfig"
)

// settings are the command line's flags.
type settings struct {
	modelDir string
	epochs   int
}

// check returns an error for flags that cannot be used.
func (o settings) check() error {
	switch {
	case flag.NArg() > 0:
		return runconfig.Mistake(fmt.Errorf("unexpected argument %q: flags begin with -", flag.Arg(0)))
	case o.epochs <= 0:
		return runconfig.Mistake(fmt.Errorf("%d epochs: expected a positive number", o.epochs))
	}
	return nil
}

// options are the options of every task.
func (o settings) options() []runconfig.Option {
	return []runconfig.Option{runconfig.TFRandomSeed(7), runconfig.ModelDir(o.modelDir), runconfig.TrainDistribute(runconfig.Strategy{
		Name:        "parameter_server",
		Partitioner: runconfig.Partitioner{Kind: "fixed_shards", Shards: 2},
	})}
}

// runTask runs a task, in the role of its configuration.
func (o settings) runTask(ctx context.Context, rc runconfig.RunConfig) error {
	quiet := distribute.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc, quiet)
	}
	s, err := distribute.New(rc, quiet)
	if err != nil {
		return err
	}
	p, err := newProgram(s, o.epochs)
	switch {
	case err != nil:
	case rc.TaskType() == runconfig.Evaluator:
		err = p.evaluateCheckpoints(ctx, os.Stdout)
	case s.IsChief():
		err = p.coordinate(ctx, os.Stdout)
	default:
		err = s.Work(ctx)
	}
	return errors.Join(err, s.Close(ctx))
}

// run runs one task of a cluster.
func (o settings) run(ctx context.Context) error {
	rc, err := runconfig.New(o.options()...)
	if err != nil {
		return err
	}
	return o.runTask(ctx, rc)
}

// runAll runs all tasks in this process.
func (o settings) runAll(ctx context.Context) (err error) {
	if o.modelDir == "" {
		if o.modelDir, err = os.MkdirTemp("", "parameter_server"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.modelDir)) }()
	}
	return inprocess.Run(ctx, inprocess.Tasks{Chief: 1, Workers: 3, PS: 2, Evaluator: 1}, o.runTask, o.options()...)
}

func main() {
	var o settings
	flag.StringVar(&o.modelDir, "model-dir", "", "folder of checkpoints; in one process it may be empty")
	flag.IntVar(&o.epochs, "epochs", 4, "epochs of 5 steps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := o.run
	if os.Getenv("TF_CONFIG") == "" {
		run = o.runAll
	}
	err := o.check()
	if err == nil {
		err = run(ctx)
	}
	if err != nil {
		log.Print(err)
	}
	os.Exit(estimator.ExitCode(err))
}
