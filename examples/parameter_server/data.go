package main

import (
	"math/rand/v2"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/tensor"
)

const (
	batchSize = 32
	words     = 3 // in each example
)

var (
	vocabulary = []string{"avenger", "ironman", "batman", "hulk", "spiderman", "kingkong", "wonder_woman"}
	noWord     = ""
	// wordIDs maps words to ids: 0 for no word, 1 for an unknown one, and 2 to 8.
	wordIDs = &feature.StringLookup{Vocabulary: vocabulary, Mask: &noWord}
	// labelIDs maps yes to 0 and no to 1; any other label is an error.
	labelIDs = &feature.StringLookup{Vocabulary: []string{"yes", "no"}, OOV: -1}
)

// wordRows is the number of rows in the embedding: 9, in shards of 5 and 4.
var wordRows = len(vocabulary) + 2

// examples makes examples with three different words each. The label is yes if one of them is avenger.
func examples(count int, seed uint64) (inputs.Dataset, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	features := inputs.NamedTensor{Name: "features", Role: inputs.Feature, Tensor: tensor.New(tensor.String, count, words)}
	labels := make([]string, count)
	for i := range count {
		labels[i] = "no"
		for j, w := range r.Perm(len(vocabulary))[:words] {
			features.Tensor.Strings[i*words+j] = []byte(vocabulary[w])
			if w == 0 {
				labels[i] = "yes"
			}
		}
	}
	ds, err := inputs.Slices(nil, features, inputs.Strings("label", inputs.Label, labels))
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Map(feature.Preprocess("features", wordIDs)), inputs.Map(feature.Preprocess("label", labelIDs))), nil
}

// training is a worker's training data: all examples, repeated, in a different order for each worker.
func training(ic inputs.Context) (inputs.Dataset, error) {
	ds, err := examples(200, 1)
	return inputs.Pipe(ds, inputs.Shuffle(200, ic.Seed+int64(ic.Pipeline)), inputs.Repeat(0), inputs.Batch(batchSize, false)), err
}

// held is a share of the examples held out for evaluation.
func held(ic inputs.Context) (inputs.Dataset, error) {
	ds, err := examples(heldExamples, 2)
	return inputs.Pipe(ds, inputs.Shard(ic.Pipeline, ic.NumPipelines), inputs.Batch(heldBatch, false)), err
}

// heldAgain is the evaluation data for scheduled functions: all held-out examples, repeated.
func heldAgain(ic inputs.Context) (inputs.Dataset, error) {
	ds, err := examples(heldExamples, 2)
	return inputs.Pipe(ds, inputs.Shuffle(heldExamples, ic.Seed+int64(ic.Pipeline)), inputs.Repeat(0), inputs.Batch(heldBatch, false)), err
}

const (
	heldExamples = 16
	heldBatch    = 8
)
