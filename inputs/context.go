package inputs

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Mode says what the data is for. The strings are TensorFlow's.
type Mode string

// The modes of an Estimator.
const (
	Train   Mode = "train"
	Eval    Mode = "eval"
	Predict Mode = "infer"
)

// Context tells an input_fn which share of the data its pipeline must produce.
// The zero value asks for all of the data, for one replica.
type Context struct {
	Mode           Mode
	Pipeline       int   // index of this input pipeline, from 0
	NumPipelines   int   // number of input pipelines; 0 means 1
	ReplicasInSync int   // replicas whose gradients are summed in one step; 0 means 1
	GlobalBatch    int   // examples of one step over all replicas in sync; 0: not set
	Seed           int64 // seeds shuffling and augmentation
	// Damaged counts the rows that on_error: skip leaves out; nil: they are only logged.
	Damaged *Damaged
	// Transforms are the kinds that input.transforms may name besides this package's own.
	Transforms map[string]TransformFunc
	// Stdin is what the file name - stands for; nil: standard input of this process.
	Stdin     *Stream
	Allocator memory.Allocator // where record batches are allocated; nil: Arrow's default
	// Spec is the section of the config file that names a registered input_fn, with its
	// params, batch_size and all other keys; nil: none. The function must apply them
	// itself.
	Spec *Spec

	labeled bool // labels are read in mode Predict, too
}

// unlabeled reports whether labels are left out.
func (c Context) unlabeled() bool { return c.Mode == Predict && !c.labeled }

// PerReplicaBatch returns the share of one replica in the global batch. It
// fails if the global batch is not divisible by the replicas in sync.
func (c Context) PerReplicaBatch() (int, error) {
	replicas := max(c.ReplicasInSync, 1)
	if c.GlobalBatch <= 0 {
		return 0, fmt.Errorf("global batch size must be positive, got %d: set batch_size", c.GlobalBatch)
	}
	if c.GlobalBatch%replicas != 0 {
		return 0, fmt.Errorf("global batch size %d is not divisible by %d replicas in sync: choose a multiple of %d",
			c.GlobalBatch, replicas, replicas)
	}
	return c.GlobalBatch / replicas, nil
}

// validate reports a pipeline index outside the number of pipelines.
func (c Context) validate() error {
	if n := max(c.NumPipelines, 1); c.Pipeline < 0 || c.Pipeline >= n {
		return fmt.Errorf("input pipeline index must be in [0, %d), got %d", n, c.Pipeline)
	}
	return nil
}

// alloc returns mem, or Arrow's default allocator if mem is nil.
func alloc(mem memory.Allocator) memory.Allocator {
	if mem == nil {
		return memory.DefaultAllocator
	}
	return mem
}
