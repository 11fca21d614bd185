// Command parameter_server is TensorFlow's tutorial "Parameter server training", its loop of one's own: the chief
// schedules steps on three workers, over an embedding that two parameter servers hold in shards.
//
// Without TF_CONFIG all tasks are goroutines of this process; with it the process is one task of a cluster:
//
//	go run ./examples/parameter_server
//	go build -o /tmp/parameter_server ./examples/parameter_server
//	go run ./cmd/goestimator launch --chief 1 --workers 3 --ps 2 -- /tmp/parameter_server -model-dir runs/parameter_server
package main

import (
	"context"
	"errors"
	"flag"
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

// settings are the flags.
type settings struct {
	modelDir string
	epochs   int
}

// options are those of every task.
func (o settings) options() []runconfig.Option {
	out := []runconfig.Option{runconfig.TFRandomSeed(7), runconfig.TrainDistribute(runconfig.Strategy{
		Name:        "parameter_server",
		Partitioner: runconfig.Partitioner{Kind: "fixed_shards", Shards: 2},
	})}
	if o.modelDir != "" {
		out = append(out, runconfig.ModelDir(o.modelDir))
	}
	return out
}

// runTask is the program of every task.
func (o settings) runTask(ctx context.Context, rc runconfig.RunConfig) error {
	quiet := distribute.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc, quiet)
	}
	s, err := distribute.New(rc, quiet)
	if err != nil {
		return err
	}
	p, err := newProgram(s, o)
	switch {
	case err != nil:
	case s.IsChief():
		err = p.coordinate(ctx, os.Stdout)
	default:
		err = s.Work(ctx)
	}
	return errors.Join(err, s.Close(ctx))
}

// run runs one task of a cluster, or all.
func (o settings) run(ctx context.Context) error {
	if os.Getenv("TF_CONFIG") == "" {
		return inprocess.Run(ctx, inprocess.Tasks{Chief: 1, Workers: 3, PS: 2}, o.runTask, o.options()...)
	}
	rc, err := runconfig.New(o.options()...)
	if err != nil {
		return err
	}
	return o.runTask(ctx, rc)
}

func main() {
	var o settings
	flag.StringVar(&o.modelDir, "model-dir", "", "folder of checkpoints; empty: none are written")
	flag.IntVar(&o.epochs, "epochs", 4, "epochs of 5 steps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := o.run(ctx)
	if err != nil {
		log.Print(err)
	}
	os.Exit(estimator.ExitCode(err))
}
