package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// csvFiles are files of two rows each: the file's number in x, the row's in y.
func csvFiles(t *testing.T, files int) inputs.Dataset {
	t.Helper()
	var names []string
	for f := range files {
		names = append(names, filepath.Join(t.TempDir(), fmt.Sprintf("part-%d.csv", f)))
		if err := os.WriteFile(names[f], fmt.Appendf(nil, "%d,0,0,0\n%[1]d,0,0,1\n", f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ds, err := inputs.CSV(names, inputs.CSVOptions{Columns: []inputs.ColumnSpec{{Name: "x", Shape: []int{3}}, {Name: "y", Role: inputs.Label}}})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// delivered returns the rows of each task, "file row".
func delivered(t *testing.T, ds inputs.Dataset, shard distribute.Shard) (tasks [2][]string) {
	t.Helper()
	var mu sync.Mutex
	setups[5].inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) (err error) {
		s, f, _, err := counting(rc)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close(ctx)) }()
		in, err := s.Distribute(ds, 4, shard)
		if err != nil {
			return err
		}
		it, err := in.Iterate(ctx)
		for err == nil {
			var b distribute.Batch
			if b, err = it.Next(ctx); err != nil {
				break
			}
			mu.Lock()
			for _, part := range b {
				x, y := tensor.Values[float32](part["x"]), tensor.Values[float32](part["y"])
				for i := range y {
					tasks[rc.WorkerRank()] = append(tasks[rc.WorkerRank()], fmt.Sprint(x[3*i], y[i]))
				}
			}
			mu.Unlock()
			_, err = f.Run(ctx, b)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	for _, rows := range tasks {
		slices.Sort(rows)
	}
	return tasks
}

// TestShards: each policy gives two tasks the same rows as tf.data's policy.
func TestShards(t *testing.T) {
	byFile := [2][]string{{"0 0", "0 1", "2 0", "2 1"}, {"1 0", "1 1"}}
	byRow := [2][]string{{"0 0", "1 0", "2 0"}, {"0 1", "1 1", "2 1"}}
	all := []string{"0 0", "0 1", "1 0", "1 1", "2 0", "2 1"}
	for _, c := range []struct {
		ds    inputs.Dataset
		shard distribute.Shard
		want  [2][]string
	}{
		{csvFiles(t, 3), distribute.ShardAuto, byFile},
		{csvFiles(t, 3), distribute.ShardFiles, byFile},
		{csvFiles(t, 3), distribute.ShardRows, byRow},
		{csvFiles(t, 3), distribute.ShardOff, [2][]string{all, all}},
		{csvFiles(t, 1), distribute.ShardAuto, [2][]string{{"0 0"}, {"0 1"}}},
		{inputs.Pipe(csvFiles(t, 3), inputs.Take(3)), distribute.ShardAuto, [2][]string{{"0 0", "1 0"}, {"0 1"}}},
	} {
		t.Run(c.shard.String(), func(t *testing.T) {
			if got := delivered(t, c.ds, c.shard); !slices.EqualFunc(got[:], c.want[:], slices.Equal) {
				t.Errorf("got %q, expected %q", got, c.want)
			}
		})
	}
}

// TestShardRefusals: a policy that cannot be applied is an error that says what to do, even in one process.
func TestShardRefusals(t *testing.T) {
	rc, err := runconfig.New()
	if err != nil {
		t.Fatal(err)
	}
	s, err := distribute.New(rc, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	for _, c := range []struct {
		ds    inputs.Dataset
		batch int
		shard distribute.Shard
		want  string
	}{
		{countData(t), 4, distribute.ShardFiles, "share rows instead, or let each task open its own files"},
		{inputs.Pipe(csvFiles(t, 3), inputs.Skip(1)), 4, distribute.ShardFiles, "positions of rows"},
		{csvFiles(t, 3), 4, 7, "unknown way to share: Shard(7)"},
		{csvFiles(t, 3), 0, distribute.ShardAuto, "must be positive"},
		{csvFiles(t, 3), -1, distribute.ShardAuto, "must be positive"},
	} {
		_, err := s.Distribute(c.ds, c.batch, c.shard)
		expect(t, err, c.want)
	}
	setups[5].inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		s, err := distribute.New(rc, quiet)
		if err != nil {
			return err
		}
		_, err = s.Distribute(csvFiles(t, 1), 4, distribute.ShardFiles)
		if err == nil || !strings.Contains(err.Error(), "1 files for 2 tasks") {
			t.Errorf("one file for two tasks: got %v", err)
		}
		return s.Close(ctx)
	})
}
