package estimator

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// TextModel is a network, such as networks.GPT, that continues texts token by token, with a cache of what it computed for
// the tokens before. It has the variables of the network that the model_fn trains.
type TextModel interface {
	// TextSize returns the size of the vocabulary, and the greatest length of a text.
	TextSize() (vocabulary, context int)
	// CacheShapes are the shapes of the cache's tensors for one text, float32.
	CacheShapes() [][]int
	// Prefill returns the cache for texts, whose ids are int32 [batch, context].
	Prefill(c models.Context, ids *G.Node) []*G.Node
	// Step takes tokens and their positions, int32 [batch], and returns the logits of the next tokens, [batch, vocabulary],
	// and the cache with the tokens added.
	Step(c models.Context, token, position *G.Node, cache []*G.Node) (logits *G.Node, next []*G.Node)
}

// Generator generates texts by a model whose tokens are bytes.
type Generator struct {
	Model TextModel
	// Characters are the bytes of the tokens, in their order. Bytes that are not in Characters count as the first one.
	Characters string
}

// check reports a generator that cannot generate.
func (g Generator) check() error {
	if g.Model == nil {
		return fmt.Errorf("generator: no model: expected one, such as networks.GPT")
	}
	vocabulary, context := g.Model.TextSize()
	if vocabulary != len(g.Characters) || context < 2 {
		return fmt.Errorf("generator: %d characters for a model of %d tokens and %d positions: expected as many characters as tokens, and 2 positions or more", len(g.Characters), vocabulary, context)
	}
	return nil
}

// textGraph is a graph of a TextModel with a symbolic batch.
type textGraph struct {
	export.TextGraph
	variables []*models.Variable
}

// prefill builds the graph that reads a prompt.
func (g Generator) prefill(e *Estimator) (textGraph, error) {
	_, context := g.Model.TextSize()
	return e.textGraph("prefill", func(b *models.Builder) []*G.Node {
		return g.Model.Prefill(b, b.Input("ids", tensor.Int32, b.Batch(), context))
	})
}

// step builds the graph that continues texts by a token.
func (g Generator) step(e *Estimator) (textGraph, error) {
	return e.textGraph("step", func(b *models.Builder) []*G.Node {
		token, position := b.Input("token", tensor.Int32, b.Batch()), b.Input("position", tensor.Int32, b.Batch())
		var cache []*G.Node
		for i, shape := range g.Model.CacheShapes() {
			cache = append(cache, b.Input(fmt.Sprintf("cache_%d", i), tensor.Float32, append([]int{b.Batch()}, shape...)...))
		}
		logits, next := g.Model.Step(b, token, position, cache)
		return append([]*G.Node{logits}, next...)
	})
}

// textGraph builds a graph at two batch sizes.
func (e *Estimator) textGraph(name string, build func(b *models.Builder) []*G.Node) (out textGraph, err error) {
	var first, second *trace.Tracing
	if first, _, err = e.traceText(trace.FirstBatch, build); err == nil {
		second, out, err = e.traceText(trace.SecondBatch, build)
	}
	if err == nil {
		err = trace.Unify(first, second)
	}
	if err != nil {
		return out, fmt.Errorf("text model, %s: %w", name, err)
	}
	out.IR = second.Graph
	for _, list := range [][]graph.Output{out.In, out.Out} {
		for i := range list {
			list[i].Node = out.IR.Node(list[i].Node.Name)
		}
	}
	return out, nil
}

// traceText builds a graph at one batch size.
func (e *Estimator) traceText(batch int, build func(b *models.Builder) []*G.Node) (t *trace.Tracing, out textGraph, err error) {
	_, err = models.Build(models.Options{Mode: models.Predict, Batch: batch, Seed: e.seed}, func(b *models.Builder) (err error) {
		roots := build(b)
		if b.Failed() {
			return b.Err()
		}
		if t, err = trace.New(b, nil); err != nil {
			return err
		}
		out.variables, out.Out = b.Variables(), make([]graph.Output, len(roots))
		for _, in := range b.Inputs() {
			out.In = append(out.In, t.Leaves[in.Node])
		}
		for i, n := range roots {
			t.Add(n, fmt.Sprintf("result %d", i), &out.Out[i])
		}
		return t.Lower(b)
	})
	return t, out, err
}
