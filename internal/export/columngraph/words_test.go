package columngraph

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestEmittedWords: the operations find the same words in texts as Apply.
func TestEmittedWords(t *testing.T) {
	for i, words := range []*feature.Words{{Key: "text", Size: 1 << 40}, {Key: "text", Values: []string{"hello", "a", "é"}, Size: 3}, {Key: "text", Values: []string{"b", "world"}}, {Key: "text", Marks: true, Values: []string{"b", "!", "don"}, Size: 9},
		{Key: "text", NGrams: 2, Size: 1 << 40}, {Key: "text", NGrams: 3, Values: []string{"a b", "hello world", "a"}}, {Key: "text", Marks: true, NGrams: 2, Values: []string{"hello ,", "b"}, Size: 9}} {
		checkWords(t, words, i%2 == 1)
	}
}

func checkWords(t *testing.T, words *feature.Words, multiHot bool) {
	t.Helper()
	plan, err := feature.New(feature.Columns{Linear: []feature.Column{words}, Dense: []feature.Column{&feature.Indicator{Of: &feature.Words{Key: "text", Size: 5}, MultiHot: multiHot}}})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	raw, feeds, err := Placeholders(b, []inputs.Column{{Name: "text", DType: tensor.String}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Emit(plan, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	r := newGraphRun(t, b.Graph, e)
	run := func(t *rapid.T, texts []string) {
		c := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		c.AppendStringValues(texts, nil)
		rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.Binary}}, nil), []arrow.Array{c.NewArray()}, int64(len(texts)))
		out, err := plan.Apply(context.Background(), rec)
		if err != nil {
			t.Fatal(err)
		}
		fed := tensor.New(tensor.String, len(texts))
		for i, s := range texts {
			fed.Strings[i] = []byte(s)
		}
		got, err := r.run(map[graph.Output]*tensor.Tensor{feeds["text"]: fed})
		if err != nil {
			t.Fatal(err)
		}
		compareRun(t, out, e, got)
	}
	text := rapid.OneOf(rapid.StringMatching("[aB~!./:@`{ \\t\\v\\r\\n\\x00é]{0,12}"),
		rapid.SampledFrom([]string{"", "Hello, World! hello", "  \t\v\n", "!?", "don't a-b É\x00x", "no\u00a0break \xff\xfe"}))
	rapid.Check(t, func(t *rapid.T) { run(t, rapid.SliceOfN(text, 1, 6).Draw(t, "texts")) })
}
