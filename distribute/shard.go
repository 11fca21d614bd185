package distribute

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs"
)

// Shard says how tasks share a data set, as tf.data's AutoShardPolicy does.
type Shard int

// The ways to share.
const (
	// ShardAuto shares files if a data set has one for each task (see inputs.Files), else rows.
	ShardAuto Shard = iota
	// ShardFiles gives each of n tasks every n-th file; no other task opens it. A data set without files, or with
	// fewer files than tasks, is an error.
	ShardFiles
	// ShardRows gives each of n tasks every n-th row, like AutoShardPolicy.DATA: all tasks read all rows.
	ShardRows
	// ShardOff gives each task all rows, in the order of its data set.
	ShardOff
)

var shardNames = map[Shard]string{ShardAuto: "auto", ShardFiles: "files", ShardRows: "rows", ShardOff: "off"}

// String is the name in config files: auto, files, rows, off.
func (p Shard) String() string {
	if name, ok := shardNames[p]; ok {
		return name
	}
	return fmt.Sprintf("Shard(%d)", int(p))
}

// share returns a task's share of a data set.
func (p Shard) share(ds inputs.Dataset, ic inputs.Context) (inputs.Dataset, error) {
	if shardNames[p] == "" {
		return nil, fmt.Errorf("unknown way to share: %v: expected ShardAuto, ShardFiles, ShardRows or ShardOff", p)
	}
	files, err := inputs.Files(ds)
	byFile := p == ShardFiles || p == ShardAuto && err == nil && len(files) >= ic.NumPipelines
	switch {
	case p == ShardFiles && err != nil:
		return nil, fmt.Errorf("share files: %w", err)
	case p == ShardFiles && len(files) < ic.NumPipelines:
		return nil, fmt.Errorf("share files: %d files for %d tasks: expected one for each, use ShardRows or write more files", len(files), ic.NumPipelines)
	case p == ShardOff || ic.NumPipelines <= 1:
		return ds, nil
	case byFile:
		return inputs.Pipe(ds, inputs.ShardFiles(ic.Pipeline, ic.NumPipelines)), nil
	}
	return inputs.Pipe(ds, inputs.Shard(ic.Pipeline, ic.NumPipelines)), nil
}
