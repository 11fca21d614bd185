package export

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Generator is a model that continues texts, byte by byte.
type Generator struct {
	Prefill, Step TextGraph
	// Characters has the byte for each id. The first one stands for all other bytes.
	Characters string
	Context    int // positions
}

// TextGraph is a graph of a Generator. Prefill takes ids, int32 [batch, context], and returns the cache.
// Step takes token and position, int32 [batch], and the cache, and returns logits [batch, characters] and the cache.
type TextGraph struct {
	IR      *graph.Graph // is not changed
	In, Out []graph.Output
}

// generateName is the name of the signature, and a part of node names.
const generateName = "generate"

// GeneratorSavedModel writes a Generator as a SavedModel with one signature, to a new folder of base, like SavedModel. The
// inputs are prompt (strings [batch]), max_new_tokens and top_k (int32 [batch]), temperature (float32 [batch]) and seed (int64
// [batch]). The output is text (strings [batch]), the continuation of each prompt. A single While writes it, with the cache among its loop variables.
func GeneratorSavedModel(fsys atomicfile.FS, base string, gen Generator, m Model, o Options) (dir string, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	a, mg, err := assembleGenerator(gen, m.Variables, o.Log)
	if err != nil {
		return "", fmt.Errorf("export, signature %s: %w", generateName, err)
	}
	w := savedmodel.Writing{Text: o.Text, Assets: map[string][]byte{}, Extra: m.Assets, MetaGraphs: []*pb.MetaGraphDef{mg}}
	variables := map[string]variable{}
	if err := mergeVariables(variables, a.variables); err != nil {
		return "", err
	}
	w.Variables = variablesOf(variables, m.Variables)
	if err := addWarmUp(&w, m); err != nil {
		return "", err
	}
	return savedmodel.Write(fsys, base, o.Version, w)
}

func assembleGenerator(gen Generator, vars Variables, log *slog.Logger) (*assembly, *pb.MetaGraphDef, error) {
	if err := gen.check(); err != nil {
		return nil, nil, err
	}
	w := &generating{gen: gen}
	a := &assembly{mode: models.Predict, log: log}
	w.assembly, a.emitter = a, w.move(&w.gen.Prefill)
	w.step = w.move(&w.gen.Step)
	for _, e := range []emitter{a.emitter, w.step} {
		if err := errors.Join(portable(e), e.Err()); err != nil {
			return nil, nil, err
		}
	}
	request := w.request()
	prompts := w.ids(&request)
	written, err := w.loop(request, prompts)
	if err != nil {
		return nil, nil, err
	}
	text := w.result(request, written)
	if err := a.Err(); err != nil {
		return nil, nil, err
	}
	a.signatures = []Signature{{Name: generateName, Kind: Predict, Outputs: []Named{{Name: "text", Output: text}}}}
	if err := a.offer(); err != nil {
		return nil, nil, err
	}
	if err := a.save(vars); err != nil {
		return nil, nil, err
	}
	mg, err := a.metaGraph()
	return a, mg, err
}

func (g Generator) check() error {
	n := len(g.Step.In) - 2
	switch {
	case g.Context < 2 || len(g.Characters) < 1:
		return fmt.Errorf("%d positions and %d characters: expected 2 and 1 or more", g.Context, len(g.Characters))
	case n < 1 || len(g.Prefill.In) != 1 || len(g.Prefill.Out) != n || len(g.Step.Out) != n+1:
		return fmt.Errorf("%d inputs and %d outputs of a step, %d of the prefill: expected the same cache everywhere", len(g.Step.In), len(g.Step.Out), len(g.Prefill.Out))
	}
	if s := g.Step.Out[0].Shape(); s.Rank() != 2 || s.Dims[1] != graph.Fixed(len(g.Characters)) || g.Step.Out[0].DType() != tensor.Float32 {
		return fmt.Errorf("logits are %v: expected float32 of %d characters", g.Step.Out[0].Type(), len(g.Characters))
	}
	return nil
}

// generating is a Generator being converted: the assembly has the main graph, step the graph of the loop body.
type generating struct {
	*assembly
	gen  Generator
	step emitter
}

// move copies a graph, and makes g refer to the copy.
func (w *generating) move(g *TextGraph) emitter {
	var keep []*graph.Node
	for _, o := range append(append([]graph.Output(nil), g.In...), g.Out...) {
		keep = append(keep, o.Node)
	}
	copied := graph.Prune(g.IR, keep...)
	moved := func(list []graph.Output) (out []graph.Output) {
		for _, o := range list {
			out = append(out, graph.Output{Node: copied.Node(o.Node.Name), Index: o.Index})
		}
		return out
	}
	*g = TextGraph{IR: copied, In: moved(g.In), Out: moved(g.Out)}
	return emitter{graph.NewBuilder(copied)}
}
