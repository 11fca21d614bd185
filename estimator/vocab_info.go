package estimator

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/tensor"
)

// VocabInfo says which vocabulary a variable's rows (or columns) follow, and which
// vocabulary the checkpoint was made with, like tf.estimator's VocabInfo. An entry in
// both vocabularies keeps its values, wherever it is. New entries, and the
// out-of-vocabulary buckets at the end, get backup values.
type VocabInfo struct {
	NewVocab      string // file of this model's vocabulary, an entry a line
	NewVocabSize  int    // number of its lines that are used; 0: all
	NumOOVBuckets int
	OldVocab      string // file of the checkpoint's vocabulary
	OldVocabSize  int    // number of its lines that were used; 0: all
	// BackupInitializer makes the values that the checkpoint does not have; nil: zeros.
	BackupInitializer models.Initializer
	// Axis is the dimension that follows the vocabulary: 0, as in embeddings and
	// linear weights, or 1, as in the kernel of an output layer of classes.
	Axis int
}

// check reports invalid settings.
func (v VocabInfo) check() error {
	switch {
	case v.NewVocab == "" || v.OldVocab == "":
		return fmt.Errorf("expected files of the new and of the old vocabulary, got %q and %q", v.NewVocab, v.OldVocab)
	case v.Axis != 0 && v.Axis != 1:
		return fmt.Errorf("the only supported values for the axis are 0 and 1, got %d", v.Axis)
	case v.NewVocabSize < 0 || v.OldVocabSize < 0 || v.NumOOVBuckets < 0:
		return fmt.Errorf("expected sizes >= 0, got new_vocab_size %d, old_vocab_size %d, num_oov_buckets %d", v.NewVocabSize, v.OldVocabSize, v.NumOOVBuckets)
	}
	return nil
}

// places returns, for each entry of the new vocabulary, its place in the old one, -1 for
// none.
func (v VocabInfo) places() (places []int, old int, err error) {
	was, err := readVocabulary(v.OldVocab, v.OldVocabSize)
	if err != nil {
		return nil, 0, err
	}
	is, err := readVocabulary(v.NewVocab, v.NewVocabSize)
	if err != nil {
		return nil, 0, err
	}
	at := make(map[string]int, len(was))
	for i, word := range was {
		at[word] = i
	}
	places = make([]int, len(is), len(is)+v.NumOOVBuckets)
	for i, word := range is {
		places[i] = -1
		if k, ok := at[word]; ok {
			places[i] = k
		}
	}
	for range v.NumOOVBuckets {
		places = append(places, -1)
	}
	return places, len(was), nil
}

func readVocabulary(path string, size int) ([]string, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	defer f.Close()
	words, err := feature.ReadVocabulary(f, size)
	if err != nil {
		return nil, fmt.Errorf("vocabulary %s: %w", path, err)
	}
	return words, nil
}

// remap makes the initial value of a variable from a checkpoint's.
func (v VocabInfo) remap(r *weights.File, name string, to *models.Variable, key uint64) (*tensor.Tensor, error) {
	places, old, err := v.places()
	if err != nil {
		return nil, err
	}
	from, err := r.Tensor(name)
	if err != nil {
		return nil, err
	}
	if err := v.fits(from, to, len(places), old); err != nil {
		return nil, fmt.Errorf("variable %s: %w", to.Name, err)
	}
	out := tensor.New(to.DType, to.Shape...)
	backup := v.BackupInitializer
	if backup == nil {
		backup = initializers.Zeros()
	}
	if err := backup.Init(out, key); err != nil {
		return nil, fmt.Errorf("variable %s: backup initializer: %w", to.Name, err)
	}
	// One block holds the values of one entry: a row for axis 0, an element of each row for
	// axis 1.
	rows, size := 1, to.DType.Size()*tensor.NumElements(to.Shape[v.Axis+1:])
	if v.Axis == 1 {
		rows = to.Shape[0]
	}
	for row := range rows {
		for i, k := range places {
			if k >= 0 {
				copy(out.Bytes[(row*len(places)+i)*size:][:size], from.Bytes[(row*from.Shape[v.Axis]+k)*size:])
			}
		}
	}
	return out, nil
}

// fits reports shapes that do not match the vocabularies.
func (v VocabInfo) fits(from *tensor.Tensor, to *models.Variable, entries, old int) error {
	switch {
	case from.DType != to.DType || len(from.Shape) != len(to.Shape) || len(to.Shape) <= v.Axis:
		return fmt.Errorf("expected %v%v but for dimension %d, got %v%v", to.DType, to.Shape, v.Axis, from.DType, from.Shape)
	case to.Shape[v.Axis] != entries:
		return fmt.Errorf("dimension %d is %d: the new vocabulary and its out-of-vocabulary buckets have %d entries", v.Axis, to.Shape[v.Axis], entries)
	case from.Shape[v.Axis] < old:
		return fmt.Errorf("the checkpoint's dimension %d is %d: the old vocabulary has %d entries", v.Axis, from.Shape[v.Axis], old)
	}
	for i := range to.Shape {
		if i != v.Axis && to.Shape[i] != from.Shape[i] {
			return fmt.Errorf("expected %v%v but for dimension %d, got %v%v", to.DType, to.Shape, v.Axis, from.DType, from.Shape)
		}
	}
	return nil
}
