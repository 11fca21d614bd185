package main

import (
	"math/rand/v2"

	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
)

// Texts have 8 to length words, which are ids below words; 0 is padding.
const (
	length = 14
	words  = 30
)

// textCNN finds the phrase 1 2 3 in texts; negative examples contain its words in another order.
func textCNN() task {
	phrase := func(r *rand.Rand, text []int32, label int64) {
		order := []int32{1, 2, 3}
		for label == 0 && order[0] == 1 && order[1] == 2 {
			r.Shuffle(3, func(i, k int) { order[i], order[k] = order[k], order[i] })
		}
		copy(text[r.IntN(len(text)-2):], order)
	}
	return task{model: heads.BinaryClass().Of(named("text_cnn", map[string]any{"vocabulary": words, "padding": 0, "width": 16, "filters": 16, "dropout": 0.1})),
		input: texts(phrase), batch: 64, steps: 300, metric: "accuracy", bound: 0.97, adam: 0.005}
}

// lstm classifies texts by whether they end with the word that they begin with.
func lstm() task {
	ends := func(_ *rand.Rand, text []int32, label int64) {
		last := len(text) - 1
		text[0] = 1 + text[0]%4
		text[last] = text[0]
		if label == 0 {
			text[last] = 1 + (text[0]+text[1]%3)%4
		}
	}
	return task{model: heads.BinaryClass().Of(named("lstm_classifier", map[string]any{"vocabulary": words, "padding": 0, "width": 16, "units": 32})),
		input: texts(ends), batch: 64, steps: 600, metric: "accuracy", bound: 0.95, adam: 0.02}
}

// texts makes random texts, which write turns into examples of a label.
func texts(write func(r *rand.Rand, text []int32, label int64)) func(ic inputs.Context) (*rows, error) {
	return func(ic inputs.Context) (*rows, error) {
		r, count := random(ic), 4096
		ids, labels := make([]int32, count*length), make([]int64, count)
		for i := range labels {
			text := ids[i*length:][:8+r.IntN(length-7)]
			for k := range text {
				text[k] = 4 + r.Int32N(words-4)
			}
			labels[i] = int64(i % 2)
			write(r, text, labels[i])
		}
		return &rows{[]inputs.NamedTensor{inputs.Slice("ids", inputs.Feature, ids, length), inputs.Slice("label", inputs.Label, labels)}, count}, nil
	}
}

// random draws different examples for evaluation and training.
func random(ic inputs.Context) *rand.Rand { return rand.New(rand.NewPCG(uint64(len(ic.Mode)), 3)) }

// named returns a network by name; its parameters must be valid.
func named(name string, parameters map[string]any) networks.Network {
	net, err := networks.New(name, parameters)
	if err != nil {
		panic(err)
	}
	return net
}
