package columngraph

import (
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// punctuation matches what feature.Words leaves out, or takes for words.
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
		row := e.gather("row", l.row(), e.column("text", n.Out(0), 0))
		count := e.element("count", e.shapeOf("words_shape", n.Out(1)), 0)
		indices := e.op("Pack", "indices", graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}},
			graph.Attrs{"T": tensor.Int64, "N": int64(2), "axis": int64(1)}, row, e.span("place", count, graph.Unknown))
		shape := e.op("Pack", "shape", graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(2)}, graph.Attrs{"T": tensor.Int64, "N": int64(2), "axis": int64(0)}, l.rows(), count)
		entries := c.Entries()
		if entries == nil {
			return listNodes{e: e, values: e.bucket(n.Out(1), c.Size), indices: indices, shape: shape}
		}
		v := newVocabularyNodes(entries, nil, c.Size)
		v.fill = v.fromList
		return listNodes{e: e, values: v.lookup(e, c, n.Out(1)), indices: indices, shape: shape, absent: c.Size == 0}
	})
}
