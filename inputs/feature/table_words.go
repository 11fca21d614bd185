package feature

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// TableWords returns the meaning of the rows of embedding tables, by the Name of the table's Variable: the entries of a vocabulary in the
// order of their ids, then its out-of-vocabulary buckets. It leaves out tables of other columns, such as hashed ones.
func (p *Plan) TableWords() map[string][]string {
	out := map[string][]string{}
	for _, c := range p.seen {
		e, ok := c.(*Embedding)
		if !ok {
			continue
		}
		if words := wordsOf(e.Of); len(words) > 0 {
			out[e.variable().Name] = words
		}
	}
	return out
}

// wordsOf returns the meaning of each id of a column, nil if the ids have no words.
func wordsOf(c Categorical) []string {
	switch x := c.(type) {
	case *Sequence:
		return wordsOf(x.Of)
	case *Weighted:
		return wordsOf(x.Of)
	case interface{ Entries() *tensor.Tensor }:
		return withBuckets(x.Entries(), c.Buckets())
	}
	return nil
}

func withBuckets(entries *tensor.Tensor, n int) (words []string) {
	for _, s := range entries.Strings {
		words = append(words, string(s))
	}
	if entries.DType == tensor.Int64 {
		for _, x := range tensor.Values[int64](entries) {
			words = append(words, fmt.Sprint(x))
		}
	}
	for k := 0; len(words) < n; k++ {
		words = append(words, fmt.Sprintf("out of vocabulary %d", k))
	}
	return words
}
