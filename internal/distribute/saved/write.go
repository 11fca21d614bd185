package saved

import (
	"context"
	"iter"
	"strings"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// Extra is what a checkpoint has in addition to a strategy's snapshot.
type Extra struct {
	Strings  map[string][]byte // scalars by name, including the positions of inputs
	TrainOps []*optimizers.TrainOp
}

// Write writes a snapshot and returns the checkpoint's prefix.
func Write(ctx context.Context, to *checkpoint.Saver, snap *distribute.Snapshot, x Extra) (string, error) {
	tensors := snap.Tensors
	for name, text := range x.Strings {
		tensors[name] = &tensor.Tensor{DType: tensor.String, Strings: [][]byte{text}}
	}
	for _, op := range x.TrainOps {
		if kinds := update.AverageSlots(op); len(kinds) > 0 {
			tensors[AveragesKey] = &tensor.Tensor{DType: tensor.String, Strings: [][]byte{[]byte(strings.Join(kinds, ","))}}
		}
		for name, v := range update.Hyperparameters(op) {
			tensors[name] = tensor.Scalar(float32(v))
		}
	}
	return to.Save(ctx, checkpoint.Snapshot{Step: snap.Step, Tensors: tensors, Parts: partsOf(snap)})
}

// partsOf reads the pieces of variables one by one as they are written.
func partsOf(snap *distribute.Snapshot) iter.Seq2[checkpoint.Part, error] {
	if len(snap.Parts) == 0 {
		return nil
	}
	return func(yield func(checkpoint.Part, error) bool) {
		for _, p := range snap.Parts {
			value, err := p.Read()
			part := checkpoint.Part{Name: p.Name, Full: p.Type.Shape.At(0), Tensor: value}
			if !p.Whole {
				part.Slice = make(checkpoint.Slice, len(part.Full))
				for i := range part.Slice {
					part.Slice[i] = checkpoint.Extent{Length: -1}
				}
				part.Slice[0] = checkpoint.Extent{Start: p.First, Length: p.Rows}
			}
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}
