package columngraph

import (
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// punctuation matches the characters that feature.Words drops, or treats as words.
const punctuation = "[!-/:-@\\[-`{-~]"

// words adds the ids of the words of texts.
func (e *emitter) words(c *feature.Words) listNodes {
	return emitOnce(e, listOf{column: c}, func() listNodes {
		l, _ := e.tokens(c.Key, false)
		e := e.at(c.Name())
		lower := e.op("StringLower", "lower", l.values.Type(), graph.Attrs{"encoding": []byte{}}, l.values)
		rewrite := ""
		if c.Marks {
			rewrite = ` \0 `
		}
		clean := e.op("StaticRegexReplace", "clean", lower.Type(),
			graph.Attrs{"pattern": []byte(punctuation), "rewrite": []byte(rewrite), "replace_global": true}, lower)
		n := e.b.Node("StringSplitV2", e.scope+"split", []graph.Type{
			{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}}, {DType: tensor.String, Shape: vector}, {DType: tensor.Int64, Shape: graph.ShapeOf(2)},
		}, graph.Attrs{"maxsplit": int64(-1)}, clean, e.texts("white_space", [][]byte{{}}))
		words, text := n.Out(1), e.column("text", n.Out(0), 0)
		if c.NGrams > 1 {
			words, text = e.grams(words, text, e.element("texts", n.Out(2), 0), c.NGrams)
		}
		row := e.gather("row", l.row(), text)
		count := e.element("count", e.shapeOf("words_shape", words), 0)
		indices := e.op("Pack", "indices", graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}},
			graph.Attrs{"T": tensor.Int64, "N": int64(2), "axis": int64(1)}, row, e.span("place", count, graph.Unknown))
		shape := e.op("Pack", "shape", graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(2)}, graph.Attrs{"T": tensor.Int64, "N": int64(2), "axis": int64(0)}, l.rows(), count)
		entries := c.Entries()
		if entries == nil {
			return listNodes{e: e, values: e.bucket(words, c.Size), indices: indices, shape: shape}
		}
		v := newVocabularyNodes(entries, nil, c.Size)
		v.fill = v.fromList
		return listNodes{e: e, values: v.lookup(e, c, words), indices: indices, shape: shape, absent: c.Size == 0}
	})
}

// grams returns the n-grams of the words of each text, up to length most, and the text of each n-gram. text has the text of each word, in order.
func (e *emitter) grams(words, text, texts graph.Output, most int) (runs, of graph.Output) {
	splits := e.bounds("LowerBound", "splits", text, e.span("split", e.binary("AddV2", "splits_count", texts, e.scalar("one", 1)), graph.Unknown))
	widths := make([]int64, most)
	for i := range widths {
		widths[i] = int64(i + 1)
	}
	n := e.b.Node("StringNGrams", e.scope+"ngrams", []graph.Type{{DType: tensor.String, Shape: vector}, {DType: tensor.Int64, Shape: vector}}, graph.Attrs{
		"separator": []byte{' '}, "ngram_widths": widths, "left_pad": []byte{}, "right_pad": []byte{}, "pad_width": int64(0), "preserve_short_sequences": false, "Tsplits": tensor.Int64,
	}, words, splits)
	count := e.element("ngrams_count", e.shapeOf("ngrams_shape", n.Out(0)), 0)
	after := e.bounds("UpperBound", "after", n.Out(1), e.span("ngram", count, graph.Unknown))
	return n.Out(0), e.binary("Sub", "text_of_ngram", after, e.scalar("before", 1))
}

// bounds returns the positions at which numbers belong among sorted ones; both are vectors.
func (e *emitter) bounds(op, name string, sorted, numbers graph.Output) graph.Output {
	row := graph.Shape{Dims: []graph.Dim{graph.Fixed(1), graph.Unknown}}
	found := e.op(op, name+"_row", graph.Type{DType: tensor.Int64, Shape: row}, graph.Attrs{"T": tensor.Int64, "out_type": tensor.Int64},
		e.expand(name+"_sorted", sorted, 0, row), e.expand(name+"_numbers", numbers, 0, row))
	return e.reshape(name, found, vector, -1)
}
