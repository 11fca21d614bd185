package session

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// guess says how the values of a dry run are made up.
type guess struct {
	rank   int     // rank of inputs of unknown rank
	size   int     // size of unknown dimensions except the first
	text   string  // value of strings
	number float64 // value of numbers
}

// Sizes to try: for a word or list, for a sequence that unpadded convolutions shorten, for an image.
var guessedSizes = []int{1, 16, 224}

// guessedRanks are tried in this order: a list, one value, rows, images.
var guessedRanks = []int{1, 0, 2, 4}

// guesses returns the guesses for the plan, likely ones first.
func (p *plan) guesses() iter.Seq[guess] {
	ranks, sizes, texts := guessedRanks[:1], guessedSizes[:1], []string{""}
	for i := range p.feeds {
		typ := p.feeds[i].typ
		switch {
		case typ.Shape.UnknownRank:
			ranks, sizes = guessedRanks, guessedSizes
		case !sized(typ):
			sizes = guessedSizes
		}
		if typ.DType == tensor.String {
			texts = slices.Concat(exampleFor(p.nodes), []string{"1", "a b", ""})
		}
	}
	return func(yield func(guess) bool) {
		for _, text := range texts {
			for _, number := range []float64{1, 0} {
				for _, size := range sizes {
					for _, rank := range ranks {
						if !yield(guess{rank, size, text, number}) {
							return
						}
					}
				}
			}
		}
	}
}

// feeds makes a value for each feed. The account pays for all of them before the first is made, since a model may state any sizes.
func (g guess) feeds(p *plan, a *budget.Account) (map[string]*tensor.Tensor, error) {
	for i := range p.feeds {
		if err := a.Reserve(g.bytes(p.feeds[i].typ)); err != nil {
			return nil, fmt.Errorf("input %q of type %v: %w", p.feeds[i].name, p.feeds[i].typ, err)
		}
	}
	feeds := make(map[string]*tensor.Tensor, len(p.feeds))
	for i := range p.feeds {
		feeds[p.feeds[i].name] = g.value(p.feeds[i].typ)
	}
	return feeds, nil
}

// shape returns the sizes of a value of a type, with one row.
func (g guess) shape(typ graph.Type) []int {
	sizes := make([]int, max(g.rank, 0))
	if !typ.Shape.UnknownRank {
		sizes = make([]int, len(typ.Shape.Dims))
	}
	for i := range sizes {
		switch {
		case !typ.Shape.UnknownRank && typ.Shape.Dims[i].Static():
			sizes[i] = typ.Shape.Dims[i].Const
		case i == 0:
			sizes[i] = 1
		case typ.Shape.UnknownRank && i == 3:
			sizes[i] = 3 // colors
		default:
			sizes[i] = g.size
		}
	}
	return sizes
}

// stringBytes is the memory of a string besides its text.
const stringBytes = 24

// bytes returns the number of bytes that value allocates, at most the largest int.
func (g guess) bytes(typ graph.Type) int {
	element := typ.DType.Size() + tensor.Float32.Size()
	if typ.DType == tensor.String {
		element = stringBytes + len(g.text)
	}
	return saturatedProduct(element, g.shape(typ))
}

// saturatedProduct returns n times all factors, at most the largest int; 0 if any of them is 0.
func saturatedProduct(n int, factors []int) int {
	if slices.Contains(factors, 0) {
		return 0
	}
	for _, f := range factors {
		if f > math.MaxInt/n {
			return math.MaxInt
		}
		n *= f
	}
	return n
}

// value makes a value of a type.
func (g guess) value(typ graph.Type) *tensor.Tensor {
	sizes := g.shape(typ)
	t := tensor.New(typ.DType, sizes...)
	for i := range t.Strings {
		t.Strings[i] = []byte(g.text)
	}
	if to := convert.Between(tensor.Float32, typ.DType); to != nil && g.number != 0 {
		ones := tensor.New(tensor.Float32, sizes...)
		for i := range tensor.Values[float32](ones) {
			tensor.Values[float32](ones)[i] = float32(g.number)
		}
		to(t.Bytes, ones.Bytes)
	}
	return t
}

// sized reports whether all sizes of a type except the first are known.
func sized(typ graph.Type) bool {
	for i, d := range typ.Shape.Dims {
		if i > 0 && !d.Static() {
			return false
		}
	}
	return !typ.Shape.UnknownRank
}

// allSized reports whether all sizes of all feeds except the first are known, so that requests can use the dry run's programs.
func (p *plan) allSized() bool {
	for i := range p.feeds {
		if !sized(p.feeds[i].typ) {
			return false
		}
	}
	return true
}

// names returns the names that the plan was made from.
func (p *plan) names() (feeds, fetches, targets []string) {
	for i := range p.feeds {
		feeds = append(feeds, p.feeds[i].name)
	}
	return feeds, p.fetched, nil
}
