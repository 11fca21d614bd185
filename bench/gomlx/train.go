package main

import (
	"io"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

const (
	trainBatch   = 128
	checkedSteps = 4 // steps compared with the reference before anything is timed
)

// training is the mlp with GoMLX's Trainer and its Adam.
type training struct {
	trainer *train.Trainer
	xs, ys  []*tensors.Tensor // batches, used in turn
	at      int
}

// newTraining uses GoMLX's gradients or, by hand, products.
func newTraining(b compute.Backend, dir string, hand bool) (*training, error) {
	g, err := readFixtures(dir)
	if err != nil {
		return nil, err
	}
	store, err := newStore(g)
	if err != nil {
		return nil, err
	}
	t := &training{}
	if t.xs, err = batches[float32](g, "x", trainBatch); err != nil {
		return nil, err
	}
	if t.ys, err = batches[int64](g, "y", trainBatch); err != nil {
		return nil, err
	}
	network, optimizer := networks["mlp"], optimizer.Adam().LearningRate(0.001).Epsilon(1e-8).Done()
	if hand {
		o := &byHand{Interface: optimizer}
		network, optimizer = o.model, o
	}
	t.trainer = train.NewTrainer(b, store, network, loss.SparseCategoricalCrossEntropyLogits, optimizer, nil, nil)
	return t, nil
}

// batches splits a tensor into batches; labels get a second dimension, which GoMLX requires.
func batches[T float32 | int64](g *fixtures, name string, size int) ([]*tensors.Tensor, error) {
	v, t, err := read[T](g, name)
	if err != nil {
		return nil, err
	}
	shape := append([]int{size}, t.Shape[1:]...)
	if len(shape) == 1 {
		shape = append(shape, 1)
	}
	n := len(v) / t.Shape[0] * size
	var out []*tensors.Tensor
	for ; len(v) >= n; v = v[n:] {
		out = append(out, tensors.FromFlatDataAndDimensions(v[:n], shape...))
	}
	return out, nil
}

// step trains on the next batch and returns GoMLX's metrics, the loss first.
func (t *training) step() ([]*tensors.Tensor, error) {
	i := t.at
	t.at = (i + 1) % len(t.xs)
	x, err := t.xs[i].Clone() // the trainer finalizes its batch
	if err != nil {
		return nil, err
	}
	y, err := t.ys[i].Clone()
	if err != nil {
		return nil, err
	}
	return t.trainer.TrainStep(train.Batch{Inputs: []*tensors.Tensor{x}, Labels: []*tensors.Tensor{y}})
}

// trainWorker trains the mlp in dir.
func trainWorker(hand bool) worker {
	return func(b compute.Backend, dir string, in io.Reader, out io.Writer) error {
		t, err := newTraining(b, dir, hand)
		if err != nil {
			return err
		}
		return t.serve(in, out)
	}
}

func (t *training) serve(in io.Reader, out io.Writer) error {
	var checked []float64
	for range checkedSteps {
		metrics, err := t.step()
		if err != nil {
			return err
		}
		checked = append(checked, float64(tensors.ToScalar[float32](metrics[0])))
	}
	return serve(in, out, reply{Values: map[string][]float64{"": checked}, Version: version}, func(string) error {
		metrics, err := t.step()
		if err != nil {
			return err
		}
		return finalize(metrics)
	})
}

// finalize frees the memory of tensors, like GoMLX's own training loop.
func finalize(ts []*tensors.Tensor) error {
	for _, t := range ts {
		if err := t.FinalizeAll(); err != nil {
			return err
		}
	}
	return nil
}
