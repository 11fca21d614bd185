package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// shardedTrain has a table of 20 rows of 4, a kernel of 14 rows, and what follows.
func shardedTrain(c *distribute.Context) (distribute.Outputs, error) {
	x, id, y := c.Arg("x", tensor.Float32, 6), c.Arg("id", tensor.Int64, 2), c.Arg("y", tensor.Int32)
	x = ops.Concat(c, 1, x, layers.Flatten(c, layers.Embedding(c, id, 20, 4, layers.Weights{})))
	logits := layers.Dense(c, layers.Dense(c, x, 16, layers.Weights{}), 3, layers.Weights{})
	loss := losses.SparseSoftmaxCrossEntropy(c, y, logits, losses.Options{})
	return distribute.Outputs{Loss: loss, Train: adam().Minimize(c, loss)}, nil
}

// shardLines describes the shards of each variable, a line for each shard.
func shardLines(list []models.VariableShards) map[string][]string {
	out := map[string][]string{}
	for _, v := range list {
		for _, s := range v.Shards {
			out[v.Name] = append(out[v.Name], fmt.Sprintf("%s%v%v %d %s", s.Name, s.Offset, s.Shape, s.Bytes, s.Task))
		}
	}
	return out
}

// shardsUnder returns the shards that the chief of a setup sees, and the chief's name.
func (c setup) shardsUnder(t *testing.T) (out []models.VariableShards, self string) {
	t.Helper()
	c.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		s, err := distribute.New(rc, quiet)
		if err != nil {
			return err
		}
		if _, err := s.Function("train", models.Train, shardedTrain); err != nil {
			return errors.Join(err, s.Close(ctx))
		}
		list, err := s.Shards() // before Restore: nothing is asked of other tasks
		if err == nil {
			_, err = s.Restore(ctx)
		}
		if rc.IsChief() {
			if out, self = list, "/job:localhost/task:0"; rc.ClusterSpec().Len() > 0 {
				self = "/job:chief/task:0"
			}
		}
		if err = errors.Join(err, s.Close(ctx)); err != nil {
			return err
		}
		if _, err := s.Shards(); err == nil {
			return errors.New("shards of a closed strategy: expected an error")
		}
		return nil
	})
	return out, self
}

// TestShardsAreWhole: without parameter servers each variable is one shard on this task.
func TestShardsAreWhole(t *testing.T) {
	for _, c := range setups[:6] {
		list, self := c.shardsUnder(t)
		if len(list) == 0 {
			t.Errorf("%s: no variables", c.name)
		}
		for _, v := range list {
			if len(v.Shards) != 1 || v.Shards[0].Task != self || !slices.Equal(v.Shards[0].Shape, v.Shape) || v.Shards[0].Name != v.Name {
				t.Errorf("%s: %+v, expected one shard on %s", c.name, v, self)
			}
			if slot := !isModels(v.Name) || v.Name == "global_step"; v.Slot != slot {
				t.Errorf("%s: %s is a slot: %v, expected %v", c.name, v.Name, v.Slot, slot)
			}
		}
	}
}

// TestShardsOnServers: shards cover each variable in order, and its slots are with them.
func TestShardsOnServers(t *testing.T) {
	fixed := runconfig.Partitioner{Kind: "fixed_shards", Shards: 3}
	for _, c := range []struct {
		strategy runconfig.Strategy
		want     map[string][]string
	}{
		{runconfig.Strategy{Partitioner: fixed, Placement: runconfig.RoundRobin}, map[string][]string{
			// TensorFlow's order: the table is made first, kernel before bias.
			"embedding/embeddings": {"embedding/embeddings/part_0[0 0][7 4] 112 /job:ps/task:0", "embedding/embeddings/part_1[7 0][7 4] 112 /job:ps/task:1", "embedding/embeddings/part_2[14 0][6 4] 96 /job:ps/task:0"},
			"dense/kernel":         {"dense/kernel/part_0[0 0][5 16] 320 /job:ps/task:1", "dense/kernel/part_1[5 0][5 16] 320 /job:ps/task:0", "dense/kernel/part_2[10 0][4 16] 256 /job:ps/task:1"},
			"dense_1/bias":         {"dense_1/bias/part_0[0][1] 4 /job:ps/task:0", "dense_1/bias/part_1[1][1] 4 /job:ps/task:1", "dense_1/bias/part_2[2][1] 4 /job:ps/task:0"},
			"global_step":          {"global_step[][] 8 /job:ps/task:0"},
		}},
		{runconfig.Strategy{Partitioner: fixed}, nil},
		{runconfig.Strategy{}, map[string][]string{"dense/kernel": {"dense/kernel[0 0][14 16] 896 /job:ps/task:0"}}},
		{runconfig.Strategy{Partitioner: runconfig.Partitioner{Kind: "max_size", Bytes: 64}}, nil}, // more shards than servers
	} {
		c.strategy.Name = "parameter_server"
		list, _ := setup{"", c.strategy, 1, 2}.shardsUnder(t)
		lines, seen := shardLines(list), map[string]models.VariableShards{}
		for name, want := range c.want {
			if !slices.Equal(lines[name], want) {
				t.Errorf("%+v: got %q, expected %q", c.strategy, lines[name], want)
			}
		}
		for _, v := range list {
			seen[v.Name] = v
			rows := 0
			for _, s := range v.Shards {
				if len(v.Shape) > 0 && s.Offset[0] != rows {
					t.Errorf("%+v: %+v, expected row %d", c.strategy, s, rows)
				}
				if len(v.Shape) > 0 {
					rows += s.Shape[0]
				}
			}
			if len(v.Shape) > 0 && rows != v.Shape[0] || len(v.Shards) == 0 {
				t.Errorf("%+v: %s has %d rows in %d shards, expected %v", c.strategy, v.Name, rows, len(v.Shards), v.Shape)
			}
		}
		for _, name := range []string{"embedding/embeddings", "dense/kernel", "dense/bias"} {
			for _, slot := range []string{"/Adam", "/Adam_1"} {
				got := strings.ReplaceAll(fmt.Sprint(lines[name+slot]), slot, "")
				if want := fmt.Sprint(lines[name]); got != want || !seen[name+slot].Slot {
					t.Errorf("%+v: the slot of %s is %s, expected %s", c.strategy, name, got, want)
				}
			}
		}
	}
}
