// Command transformer_classifier trains a transformer on generated texts of brackets. It tells balanced texts from
// texts with the same number of each bracket, in which brackets were swapped so that they are no longer balanced.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

const (
	length = 16 // of a text, with 0 as padding
	steps  = 900
)

// text makes a balanced text of brackets, 1 for ( and 2 for ). For label 0 it swaps brackets until the text is no longer balanced.
func text(r *rand.Rand, label int64) []int32 {
	out, open := make([]int32, length), 0
	n := length - 2*r.IntN(4)
	for i := range n {
		if open == 0 || open < n-i && r.IntN(2) == 0 {
			out[i], open = 1, open+1
		} else {
			out[i], open = 2, open-1
		}
	}
	for label == 0 && closed(out[:n]) {
		i, k := r.IntN(n), r.IntN(n)
		out[i], out[k] = out[k], out[i]
	}
	return out
}

// closed reports whether a text is balanced.
func closed(text []int32) bool {
	open := 0
	for _, b := range text {
		if open += 3 - 2*int(b); open < 0 {
			return false
		}
	}
	return open == 0
}

func inputFn(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	r, count := rand.New(rand.NewPCG(uint64(len(ic.Mode)), 3)), 4096
	var ids []int32
	labels := make([]int64, count)
	for i := range labels {
		labels[i] = int64(i % 2)
		ids = append(ids, text(r, labels[i])...)
	}
	all, err := inputs.Slices(ic.Allocator, inputs.Slice("ids", inputs.Feature, ids, length), inputs.Slice("label", inputs.Label, labels))
	if err != nil {
		return nil, err
	}
	if ic.Mode != inputs.Train {
		return inputs.Pipe(all, inputs.Batch(256, false)), nil
	}
	return inputs.Pipe(all, inputs.Shuffle(count, ic.Seed), inputs.Repeat(0), inputs.Batch(32, true)), nil
}

func main() {
	net, err := networks.New("transformer_classifier", map[string]any{"vocabulary": 3, "padding": 0, "width": 32, "dropout": 0})
	if err != nil {
		log.Fatal(err)
	}
	est, err := estimator.New(heads.BinaryClass().Of(net), estimator.WithOptimizer(optimizers.Adam(0.003)))
	if err != nil {
		log.Fatal(err)
	}
	input := estimator.InputFunc(inputFn)
	res, err := estimator.TrainAndEvaluate(context.Background(), est, estimator.TrainSpec{Input: input, MaxSteps: steps}, estimator.EvalSpec{Input: input})
	if err != nil {
		log.Fatal(err)
	}
	accuracy, _ := res.Eval.Scalar("accuracy")
	log.Printf("accuracy %.3f", accuracy)
	fmt.Printf("accuracy above 0.9: %v\n", accuracy > 0.9)
}
