package models

import "github.com/goestimator/goestimator/tensor"

// VariableShards says where a variable of a strategy lies: in one piece on one task, or
// cut along its first dimension into shards, which parameter servers hold.
type VariableShards struct {
	Name   string
	DType  tensor.DType
	Shape  []int
	Slot   bool // it is the optimizer's, or the global step
	Shards []Shard
}

// Shard is a piece of a variable.
type Shard struct {
	Name   string // the variable's, where it is not cut, else "NAME/part_0", "NAME/part_1", ...
	Offset []int  // of its first element, in each dimension of the variable
	Shape  []int
	Bytes  int64
	Task   string // that holds it: "/job:ps/task:0"; "/job:localhost/task:0" where there is no cluster
}

// Bytes is the size of all shards.
func (v VariableShards) Bytes() int64 {
	n := int64(0)
	for _, s := range v.Shards {
		n += s.Bytes
	}
	return n
}
