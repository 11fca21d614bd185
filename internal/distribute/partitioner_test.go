package distribute

import (
	"testing"

	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// TestPartitionerOfConfig: into how many parts variables are cut for three servers.
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
	} {
		p, err := partitionerOf(c.cut, 3)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Partitions("v", tensor.Float32, []int{c.rows, row / 4}); got != c.want {
			t.Errorf("%+v: %d rows make %d parts, expected %d", c.cut, c.rows, got, c.want)
		}
	}
	if _, err := partitionerOf(runconfig.Partitioner{Kind: "even"}, 3); err == nil {
		t.Error("an unknown kind: expected an error")
	}
}
