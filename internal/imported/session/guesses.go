package session

import (
	"iter"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// guess is how the values of a dry run are made up.
type guess struct {
	rank   int     // of inputs whose rank is not known
	size   int     // of dimensions, but for the first, whose size is not known
	text   string  // of strings
	number float64 // of numbers
}

// Sizes that are tried: of a word or a list, of a sequence that convolutions without padding shorten, of an image.
var guessedSizes = []int{1, 16, 224}

// guessedRanks are tried in this order: a list, one value, rows, images.
var guessedRanks = []int{1, 0, 2, 4}

// guesses returns values for the plan's feeds, likely ones first.
func (p *plan) guesses() iter.Seq[map[string]*tensor.Tensor] {
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
	return func(yield func(map[string]*tensor.Tensor) bool) {
		for _, text := range texts {
			for _, number := range []float64{1, 0} {
				for _, size := range sizes {
					for _, rank := range ranks {
						if !yield(p.guessed(guess{rank, size, text, number})) {
							return
						}
					}
				}
			}
		}
	}
}

// guessed makes a value for each feed.
func (p *plan) guessed(g guess) map[string]*tensor.Tensor {
	feeds := make(map[string]*tensor.Tensor, len(p.feeds))
	for i := range p.feeds {
		f := &p.feeds[i]
		feeds[f.name] = g.value(f.typ)
	}
	return feeds
}

// value makes a value of a type: one row.
func (g guess) value(typ graph.Type) *tensor.Tensor {
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
			sizes[i] = 3 // colours
		default:
			sizes[i] = g.size
		}
	}
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

// sized reports whether all sizes of a type but the first are known.
func sized(typ graph.Type) bool {
	for i, d := range typ.Shape.Dims {
		if i > 0 && !d.Static() {
			return false
		}
	}
	return !typ.Shape.UnknownRank
}

// allSized reports whether all sizes of all feeds but the first are known, so that the programs of the dry run serve requests too.
func (p *plan) allSized() bool {
	for i := range p.feeds {
		if !sized(p.feeds[i].typ) {
			return false
		}
	}
	return true
}

// names returns what the plan was made of.
func (p *plan) names() (feeds, fetches, targets []string) {
	for i := range p.feeds {
		feeds = append(feeds, p.feeds[i].name)
	}
	return feeds, p.fetched, nil
}
