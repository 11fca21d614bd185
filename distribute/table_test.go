package distribute_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

const (
	tableRows  = 203 // a number that no number of servers divides
	tableWidth = 8
	tableBatch = 16
	tableName  = "embedding/embeddings"
)

// tableProgram trains a table that is read by rows, on given batches.
type tableProgram struct {
	*distribute.Strategy
	train *distribute.Function
	step  *distribute.Remote // on batches by their numbers
}

func newTableProgram(rc runconfig.RunConfig, opts ...distribute.Option) (*tableProgram, error) {
	s, err := distribute.New(rc, append([]distribute.Option{quiet}, opts...)...)
	if err != nil {
		return nil, err
	}
	p := &tableProgram{Strategy: s}
	p.train, err = s.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		id, y := c.Arg("id", tensor.Int64, 2), c.Arg("y", tensor.Float32, 1)
		x := layers.Flatten(c, layers.Embedding(c, id, tableRows, tableWidth, layers.Weights{}))
		loss := losses.MeanSquaredError(c, y, layers.Dense(c, x, 1, layers.Weights{}), losses.Options{})
		return distribute.Outputs{Loss: loss, Train: adam().Minimize(c, loss)}, nil
	})
	if err == nil {
		p.step, err = s.Remote("step", func(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
			n, err := call.Tensor(0)
			if err != nil {
				return nil, err
			}
			_, err = p.train.Run(ctx, tableData(n.Int(0)))
			return nil, err
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Close(context.Background()))
	}
	return p, nil
}

// tableData returns the batch with a given number. It has repeated ids, and the ids of the first and last
// row. For a negative number, it has an id without a row in the table.
func tableData(n int64) distribute.Batch {
	id, y := tensor.New(tensor.Int64, tableBatch, 2), tensor.New(tensor.Float32, tableBatch, 1)
	ids, ys := tensor.Values[int64](id), tensor.Values[float32](y)
	for i := range ids {
		ids[i] = (int64(i/3)*37 + n*11) % tableRows
	}
	ids[4], ids[5] = tableRows-1, 0
	if n < 0 {
		ids[7] = tableRows
	}
	for i := range ys {
		ys[i] = float32(ids[2*i]%5) - 2
	}
	return distribute.Batch{{"id": id, "y": y}}
}

// tableStrategies split the table in several ways.
var tableStrategies = map[string]runconfig.Strategy{
	"fixed":                    {Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "fixed_shards"}},
	"one row each":             {Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "max_size", Bytes: 1}},
	"round robin":              {Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "fixed_shards", Shards: 5}, Placement: runconfig.RoundRobin},
	"whole":                    {Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "none"}},
	"in lock step, some bytes": {Name: "parameter_server", Sync: true, Partitioner: runconfig.Partitioner{Kind: "min_size", Bytes: 1000, Shards: 4}},
}

// trainTable restores, trains on batches and saves, on the one worker of a setup.
func trainTable(t *testing.T, c setup, dir string, from, to int64) {
	t.Helper()
	c.inCluster(t, dir, func(ctx context.Context, rc runconfig.RunConfig) error {
		p, err := newTableProgram(rc)
		if err != nil {
			return err
		}
		step, err := p.Restore(ctx)
		if err == nil && step != from {
			t.Errorf("%s: restored step %d, expected %d", c.name, step, from)
		}
		for n := from; n < to && err == nil; n++ {
			_, err = p.train.Run(ctx, tableData(n))
		}
		if err == nil {
			_, err = p.Save(ctx)
		}
		return errors.Join(err, p.Close(ctx))
	})
}

// newestTensors reads and checks all of the newest checkpoint.
func newestTensors(t *testing.T, dir string) (map[string]*tensor.Tensor, map[string]checkpoint.Info) {
	t.Helper()
	r, err := checkpoint.OpenLatest(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Verify(); err != nil {
		t.Error(err)
	}
	values, infos := map[string]*tensor.Tensor{}, map[string]checkpoint.Info{}
	for _, x := range r.List() {
		if x.DType == tensor.String {
			continue
		}
		infos[x.Name] = x
		if values[x.Name], err = r.Tensor(x.Name); err != nil {
			t.Fatal(err)
		}
	}
	return values, infos
}

// TestShardedLookups: a table on several servers trains like a whole local one, including its slots.
func TestShardedLookups(t *testing.T) {
	dir := t.TempDir()
	trainTable(t, setups[0], dir, 0, 12)
	want, _ := newestTensors(t, dir)
	for name, strategy := range tableStrategies {
		dir := t.TempDir()
		trainTable(t, setup{name, strategy, 1, 2}, dir, 0, 12)
		got, _ := newestTensors(t, dir)
		compareTraces(t, trace{variables: want}, trace{variables: got}, 1e-5)
	}
}

// TestOtherServersGoOn: a job continues with more servers, with other shards, and then in one process, as if it
// had not stopped.
func TestOtherServersGoOn(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	trainTable(t, setups[0], whole, 0, 12)
	want, _ := newestTensors(t, whole)
	for i, c := range []setup{{"2 servers", tableStrategies["fixed"], 1, 2}, {"3 servers", tableStrategies["fixed"], 1, 3}, setups[0]} {
		trainTable(t, c, dir, int64(4*i), int64(4*i+4))
		_, infos := newestTensors(t, dir)
		for _, name := range []string{tableName, tableName + "/Adam", tableName + "/Adam_1"} {
			shards := c.servers
			if got := infos[name]; len(got.Slices) != shards || !slices.Equal(got.Shape, []int{tableRows, tableWidth}) {
				t.Errorf("%s: %s%v is saved in %d slices, expected %d", c.name, name, got.Shape, len(got.Slices), shards)
			}
		}
	}
	got, _ := newestTensors(t, dir)
	compareTraces(t, trace{variables: want}, trace{variables: got}, 1e-5)
}

// TestRowsThatAreNotThere: an id beyond a sharded table fails its step. Other steps continue, and at the end the
// chief need not wait for a worker that had such a step.
func TestRowsThatAreNotThere(t *testing.T) {
	var log bytes.Buffer
	job := setup{"coordinator", tableStrategies["fixed"], 2, 2}
	job.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		if !rc.IsChief() {
			p, err := newTableProgram(rc)
			if err != nil {
				return err
			}
			return errors.Join(p.Work(ctx), p.Close(ctx))
		}
		p, err := newTableProgram(rc, distribute.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			return err
		}
		c, err := distribute.NewCoordinator(ctx, p.Strategy)
		if err != nil {
			return errors.Join(err, p.Close(ctx))
		}
		for n := range int64(4) {
			if _, err := c.Schedule(ctx, p.step, tensor.Scalar(n%2-1)); err != nil && !errors.Is(err, distribute.ErrFunction) {
				return err
			}
			err := c.Join(ctx)
			if bad := n%2 == 0; bad && (err == nil || !strings.Contains(err.Error(), "expected 0 to 202")) || !bad && err != nil {
				t.Errorf("step %d: %v", n, err)
			}
		}
		return errors.Join(c.Close(ctx), p.Close(ctx))
	})
	if strings.Contains(log.String(), "workers did not stop") {
		t.Errorf("the worker did not leave the job:\n%s", log.String())
	}
}
