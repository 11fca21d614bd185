package ps

import (
	"fmt"
	"math"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// Partitioner says into how many parts along axis 0 a variable is cut.
type Partitioner interface {
	// Partitions returns the number of parts, at least 1. What is more than a
	// variable has rows is cut down by NewPlan.
	Partitions(name string, t tensor.DType, shape []int) int
}

// NoPartitions keeps every variable in one piece.
type NoPartitions struct{}

// Partitions is 1.
func (NoPartitions) Partitions(string, tensor.DType, []int) int { return 1 }

// FixedShards cuts every variable into the same number of parts
// (tf.compat.v1.fixed_size_partitioner).
type FixedShards int

// Partitions is the number of shards.
func (n FixedShards) Partitions(string, tensor.DType, []int) int { return int(n) }

// MinSize cuts variables into as many parts as are of at least SliceBytes each,
// but not more than MaxPartitions (tf.compat.v1.min_max_variable_partitioner).
type MinSize struct {
	SliceBytes    int64 // 0: 64 MiB, as the canned estimators of TensorFlow
	MaxPartitions int   // usually the number of parameter servers; 0 is 1
}

// DefaultSliceBytes is MinSize's least size of a part.
const DefaultSliceBytes = 64 << 20

// Partitions is ceil(bytes / SliceBytes), at most MaxPartitions.
func (m MinSize) Partitions(_ string, t tensor.DType, shape []int) int {
	least := m.SliceBytes
	if least <= 0 {
		least = DefaultSliceBytes
	}
	return int(min(int64(m.MaxPartitions), ceilDiv(sizeOf(t, shape), least)))
}

// MaxSize cuts variables into parts of at most Bytes each, as far as single rows
// allow (tf.compat.v1.variable_axis_size_partitioner).
type MaxSize struct{ Bytes int64 }

// Partitions is ceil(rows / rows that fit into Bytes).
func (m MaxSize) Partitions(_ string, t tensor.DType, shape []int) int {
	if len(shape) == 0 || shape[0] == 0 {
		return 1
	}
	rows := max(m.Bytes/max(sizeOf(t, shape[1:]), 1), 1)
	return int(min(ceilDiv(int64(shape[0]), rows), math.MaxInt32))
}

// NewPartitioner returns the partitioner of a name in config files: "none",
// "fixed_shards", "min_size" or "max_size". Value is the number of shards, or
// the bytes of a part (0: DefaultSliceBytes); servers bounds min_size.
func NewPartitioner(name string, value int64, servers int) (Partitioner, error) {
	if value < 0 {
		return nil, fmt.Errorf("partitioner %s: got %d, expected a value >= 0", name, value)
	}
	switch name {
	case "none":
		return NoPartitions{}, nil
	case "fixed_shards":
		if value == 0 {
			value = int64(servers)
		}
		return FixedShards(min(value, math.MaxInt32)), nil
	case "min_size":
		return MinSize{SliceBytes: value, MaxPartitions: servers}, nil
	case "max_size":
		if value == 0 {
			value = DefaultSliceBytes
		}
		return MaxSize{Bytes: value}, nil
	}
	return nil, fmt.Errorf("unknown partitioner %q: expected one of %s", name, strings.Join([]string{"none", "fixed_shards", "min_size", "max_size"}, ", "))
}

// sizeOf returns the bytes of a tensor.
func sizeOf(t tensor.DType, shape []int) int64 {
	return int64(tensor.NumElements(shape)) * int64(t.Size())
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// div returns the rows [lo, hi) of part i of n, as TensorFlow's div strategy:
// the first rows%n parts have one row more.
func div(rows, n, i int) (lo, hi int) {
	base, extra := rows/n, rows%n
	lo = i*base + min(i, extra)
	hi = lo + base
	if i < extra {
		hi++
	}
	return lo, hi
}

// partOf is the inverse of div: the part that holds a row.
func partOf(rows, n, row int) int {
	base, extra := rows/n, rows%n
	if wide := extra * (base + 1); row >= wide {
		return extra + (row-wide)/base
	}
	return row / (base + 1)
}
