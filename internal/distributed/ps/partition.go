package ps

import (
	"cmp"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// Partitioner decides into how many parts a variable is partitioned along axis 0.
type Partitioner interface {
	// Partitions returns the number of parts, at least 1. NewPlan reduces it to the
	// variable's number of rows.
	Partitions(name string, t tensor.DType, shape []int) int
}

// NoPartitions keeps every variable in one piece.
type NoPartitions struct{}

// Partitions returns 1.
func (NoPartitions) Partitions(string, tensor.DType, []int) int { return 1 }

// FixedShards cuts every variable into the same number of parts
// (tf.compat.v1.fixed_size_partitioner).
type FixedShards int

// Partitions returns the number of shards.
func (n FixedShards) Partitions(string, tensor.DType, []int) int { return int(n) }

// MinSize cuts variables into as many parts of at least about Bytes as possible, but
// at most Shards (tf.distribute's MinSizePartitioner).
type MinSize struct {
	Bytes  int64 // least size of a part, at least 1
	Shards int   // usually the number of parameter servers, at least 1
}

// Partitions returns ceil(size / Bytes), at most Shards.
func (m MinSize) Partitions(_ string, t tensor.DType, shape []int) int {
	return int(min(int64(m.Shards), ceilDiv(sizeOf(t, shape), max(m.Bytes, 1))))
}

// MaxSize cuts variables into parts of at most Bytes each, as far as single rows and
// Shards allow (tf.distribute's MaxSizePartitioner).
type MaxSize struct {
	Bytes  int64 // at least 1
	Shards int   // 0: no limit
}

// Partitions returns ceil(rows / rows that fit into Bytes), at most Shards.
func (m MaxSize) Partitions(_ string, t tensor.DType, shape []int) int {
	if len(shape) == 0 || sizeOf(t, shape) == 0 {
		return 1
	}
	rows := max(m.Bytes/sizeOf(t, shape[1:]), 1)
	most := cmp.Or(m.Shards, math.MaxInt32)
	return int(min(ceilDiv(int64(shape[0]), rows), int64(most)))
}

// sizeOf returns the bytes of a tensor.
func sizeOf(t tensor.DType, shape []int) int64 {
	return int64(tensor.NumElements(shape)) * int64(t.Size())
}

// ceilDiv is a / b rounded up, without an overflow.
func ceilDiv(a, b int64) int64 { return a/b + min(a%b, 1) }

// div returns the rows [lo, hi) of part i of n, as in TensorFlow's div strategy: the
// first rows%n parts have one more row.
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
