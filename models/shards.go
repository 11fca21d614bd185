package models

import "github.com/goestimator/goestimator/tensor"

// VariableShards says where a strategy places a variable: whole on one task, or split
// along its first dimension into shards on parameter servers.
type VariableShards struct {
	Name   string
	DType  tensor.DType
	Shape  []int
	Slot   bool // it belongs to the optimizer, or is the global step
	Shards []Shard
}

// Shard is a piece of a variable.
type Shard struct {
	Name   string // the variable's name if it is not split, else "NAME/part_0", "NAME/part_1", ...
	Offset []int  // of its first element, in each dimension of the variable
	Shape  []int
	Bytes  int64
	Task   string // the task that has it: "/job:ps/task:0"; "/job:localhost/task:0" without a cluster
}

// Bytes returns the size of all shards.
func (v VariableShards) Bytes() int64 {
	n := int64(0)
	for _, s := range v.Shards {
		n += s.Bytes
	}
	return n
}
