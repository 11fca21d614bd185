package accept

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// functionsJob is the environment variable that makes this test's binary run as a task
// of TestFunctionsSoak. Its value is model_dir.
const functionsJob = "GOESTIMATOR_ACCEPT_FUNCTIONS"

func init() {
	dir := os.Getenv(functionsJob)
	if dir == "" {
		return
	}
	go func() {
		for range time.Tick(5 * time.Second) {
			fmt.Printf("goroutines=%d\n", runtime.NumGoroutine())
		}
	}()
	err := workFunctions(dir)
	if err != nil {
		fmt.Println(err)
	}
	os.Exit(estimator.ExitCode(err))
}

func workFunctions(dir string) error {
	rc, err := functionsConfig(os.Getenv("TF_CONFIG"), dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc)
	}
	p, err := newLedger(rc)
	if err != nil {
		return err
	}
	return errors.Join(p.Work(ctx), p.Close(ctx))
}

func functionsConfig(text, dir string) (runconfig.RunConfig, error) {
	rpc := runconfig.RPC{Security: "auto", PeerTimeoutSecs: 12, RejoinSecs: 20, CallTimeoutSecs: 20, MaxMessageMB: 64}
	return runconfig.FromTFConfig(text, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.Connections(rpc), runconfig.SessionCreationTimeoutSecs(60),
		runconfig.TrainDistribute(runconfig.Strategy{Name: "parameter_server"}))
}

// ledger is a program whose function adds one to the row given by its argument, in a
// table on the parameter servers.
type ledger struct {
	*distribute.Strategy
	note *distribute.Remote
	ones *distribute.WorkerDataset
}

const (
	ledgerRows = 4 << 20
	ledgerName = "embedding/embeddings"
)

func newLedger(rc runconfig.RunConfig) (p *ledger, err error) {
	p = &ledger{}
	if p.Strategy, err = distribute.New(rc, distribute.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		return nil, err
	}
	if err := p.define(); err != nil {
		return nil, errors.Join(err, p.Close(context.Background()))
	}
	return p, nil
}

func (p *ledger) define() error {
	add, err := p.Function("add", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		row := layers.Embedding(c, c.Arg("id", tensor.Int64), ledgerRows, 1, layers.Weights{KernelInit: initializers.Zeros()})
		loss := ops.Neg(c, ops.Sum(c, ops.Mul(c, row, c.Arg("one", tensor.Float32, 1))))
		return distribute.Outputs{Loss: loss, Train: optimizers.SGD(1).Minimize(c, loss)}, nil
	})
	if err != nil {
		return err
	}
	p.note, err = p.Remote("note", func(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		id, err := call.Tensor(0)
		if err != nil {
			return nil, err
		}
		it, err := call.Iterator(1)
		if err != nil {
			return nil, err
		}
		batch, err := it.Next(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := add.Run(ctx, distribute.Batch{{"id": id, "one": batch[0]["one"]}}); err != nil {
			return nil, err
		}
		return []*tensor.Tensor{id}, nil
	})
	if err != nil {
		return err
	}
	p.ones, err = p.WorkerDataset("ones", func(inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Slice("one", inputs.Feature, []float32{1}, 1))
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Repeat(-1), inputs.Batch(1, true)), nil
	})
	return err
}
