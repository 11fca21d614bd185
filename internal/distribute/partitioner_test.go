package distribute

import (
	"testing"

	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// named is the default except for variables of some names, which a second rule does not change.
func named(match, kind string, shards int) runconfig.Partitioner {
	return runconfig.Partitioner{Variables: []runconfig.VariablePartitioner{{Match: match, Kind: kind, Shards: shards}, {Match: match, Kind: "fixed_shards", Shards: 7}}}
}

// TestPartitionerOfConfig: into how many parts variables are split for three servers.
func TestPartitionerOfConfig(t *testing.T) {
	const row = 1 << 10 // bytes
	for _, c := range []struct {
		cut  runconfig.Partitioner
		rows int
		want int
	}{
		{runconfig.Partitioner{}, 1, 1},
		{runconfig.Partitioner{}, 256, 1}, // exactly 256 KiB
		{runconfig.Partitioner{}, 257, 2},
		{runconfig.Partitioner{}, 512, 2},
		{runconfig.Partitioner{}, 513, 3},
		{runconfig.Partitioner{}, 1 << 20, 3},
		{runconfig.Partitioner{Shards: 2}, 1 << 20, 2},
		{runconfig.Partitioner{Bytes: row}, 2, 2},
		{runconfig.Partitioner{Kind: "min_size"}, 257, 2},
		{runconfig.Partitioner{Kind: "min_size", Bytes: 1 << 30}, 1 << 20, 1},
		{runconfig.Partitioner{Kind: "none"}, 1 << 20, 1},
		{runconfig.Partitioner{Kind: "fixed_shards"}, 5, 3},
		{runconfig.Partitioner{Kind: "fixed_shards", Shards: 4}, 5, 4},
		{runconfig.Partitioner{Kind: "max_size"}, 1 << 17, 2}, // 64 MiB each
		{runconfig.Partitioner{Kind: "max_size", Bytes: row}, 5, 5},
		{runconfig.Partitioner{Kind: "max_size", Bytes: row, Shards: 4}, 5, 4},
		{named("v", "fixed_shards", 2), 1 << 20, 2},
		{named("u|v", "none", 0), 1 << 20, 1},
		{named("[vw]", "max_size", 1), 1 << 20, 1},
		{named("w", "none", 0), 1 << 20, 3},
		{named("", "none", 0), 1 << 20, 3},
	} {
		p, err := partitionerOf(c.cut, 3)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Partitions("v", tensor.Float32, []int{c.rows, row / 4}); got != c.want {
			t.Errorf("%+v: %d rows make %d parts, expected %d", c.cut, c.rows, got, c.want)
		}
	}
	for _, c := range []runconfig.Partitioner{{Kind: "even"}, named("v", "even", 1)} {
		if _, err := partitionerOf(c, 3); err == nil {
			t.Errorf("%+v: expected an error", c)
		}
	}
}
