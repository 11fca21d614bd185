package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// A network that can recompute its blocks, and its feeds.
type blocksCase struct {
	name  string
	dtype tensor.DType
	shape []int
	rows  int
	build func(c models.Context, x *G.Node, again bool) *G.Node
	saves float64 // the greatest memory of a step with recomputation, as a fraction of the memory without
}

func blocksCases() []blocksCase {
	named := func(name string, params map[string]any) func(c models.Context, x *G.Node, again bool) *G.Node {
		return func(c models.Context, x *G.Node, again bool) *G.Node {
			with := map[string]any{"recompute": again}
			for k, v := range params {
				with[k] = v
			}
			n, err := networks.New(name, with)
			if err != nil {
				c.Core().Fail(err)
				return nil
			}
			return n(c, models.NewFeatures(c, models.Feature{Name: "x", Dense: x}), 5)
		}
	}
	return []blocksCase{
		{"gpt", tensor.Int32, []int{24}, 6, func(c models.Context, x *G.Node, again bool) *G.Node {
			return networks.GPT{Vocabulary: 5, Context: 24, Layers: 6, Heads: 2, Width: 16, Dropout: 0.2, Recompute: again}.NextLogits(c, x)
		}, 0.35},
		{"transformer_classifier", tensor.Int32, []int{16}, 6, named("transformer_classifier", map[string]any{"layers": 5, "heads": 2, "width": 16, "vocabulary": 5}), 0.4},
		{"resnet20", tensor.Float32, []int{8, 8, 3}, 40, named("resnet20", map[string]any{"width": 8}), 0.6},
		{"resnet50", tensor.Float32, []int{16, 16, 3}, 20, named("resnet50", map[string]any{"width": 4, "blocks": []int{2, 2}}), 0.75},
		{"layers", tensor.Float32, []int{10}, 300, func(c models.Context, x *G.Node, again bool) *G.Node {
			block := func(x *G.Node) *G.Node {
				for range 4 {
					x = layers.Dropout(c, layers.Dense(c, x, 64, layers.Weights{Activation: ops.Gelu}), 0.3)
				}
				return x
			}
			for range 6 {
				if again {
					x = layers.Recompute(c, x, block)
				} else {
					x = block(x)
				}
			}
			return x
		}, 0.3},
	}
}

// traced builds the loss and the gradients of a network at one batch size.
func (k blocksCase) traced(t *testing.T, batch int, again bool) (tr *trace.Tracing, loss *graph.Output, e trace.Effects, vars []*models.Variable) {
	t.Helper()
	loss = new(graph.Output)
	_, err := models.Build(models.Options{Mode: models.Train, Batch: batch, Seed: 7, DType: tensor.Float32}, func(b *models.Builder) (err error) {
		y := k.build(b, b.Input("x", k.dtype, append([]int{b.Batch()}, k.shape...)...), again)
		l := ops.Mean(b, ops.Square(b, ops.Sub(b, y, ops.Scalar(b, tensor.Float32, 0.3))))
		op := optimizers.SGD(0.1).Minimize(b, l)
		if b.Failed() {
			return b.Err()
		}
		if tr, err = trace.New(b, op); err != nil {
			return err
		}
		tr.Add(l, "loss", loss)
		e, vars = tr.Effects(b, op), b.Variables()
		return tr.Lower(b)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr, loss, e, vars
}

// run returns the loss, gradients and updates of a batch, and the memory that the program plans.
func (k blocksCase) run(t *testing.T, again bool) (values []*tensor.Tensor, names []string, memory int) {
	t.Helper()
	rows := k.rows
	first, _, _, _ := k.traced(t, trace.FirstBatch, again)
	second, loss, e, vars := k.traced(t, trace.SecondBatch, again)
	if err := trace.Unify(first, second); err != nil {
		t.Fatal(err)
	}
	spec := engine.Spec{Feeds: []graph.Output{second.Graph.Node("x").Out(0)}, Fetches: []graph.Output{*loss}}
	names = []string{"loss"}
	for i, v := range e.Values() {
		for _, o := range v.Outputs() {
			spec.Fetches, names = append(spec.Fetches, o), append(names, fmt.Sprint("gradient ", i))
		}
	}
	for _, u := range e.Updates {
		spec.Fetches, names = append(spec.Fetches, u.Value), append(names, "update of "+u.Variable)
	}
	host := device.NewHost()
	store, err := engine.NewVariables(host)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vars {
		x := tensor.New(v.DType, v.Shape...)
		if v.Init != nil {
			if err := v.Init.Init(x, models.Key(7, v.Name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Create(v.Name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Create("global_step", tensor.Scalar(int64(3))); err != nil {
		t.Fatal(err)
	}
	p, err := engine.Compile(second.Graph, spec, host, store, engine.Options{Capacity: rows})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	x := tensor.New(k.dtype, append([]int{rows}, k.shape...)...)
	for i := range x.Len() {
		if k.dtype == tensor.Int32 {
			tensor.Values[int32](x)[i] = int32(i * 7 % 5)
		} else {
			tensor.Values[float32](x)[i] = float32(i*13%17)/17 - 0.4
		}
	}
	if err := p.Run(context.Background(), rows, []*tensor.Tensor{x}); err != nil {
		t.Fatal(err)
	}
	for i := range spec.Fetches {
		values = append(values, p.Value(i).Clone())
	}
	return values, names, p.Memory()
}

// TestRecompute: recomputed blocks give bit-identical results in less memory.
func TestRecompute(t *testing.T) {
	for _, k := range blocksCases() {
		t.Run(k.name, func(t *testing.T) {
			want, names, most := k.run(t, false)
			got, _, memory := k.run(t, true)
			for i := range want {
				if !bytes.Equal(got[i].Bytes, want[i].Bytes) {
					t.Errorf("%s differs", names[i])
				}
			}
			t.Logf("memory of a step: %d bytes, %d where blocks are kept: %.2f", memory, most, float64(memory)/float64(most))
			if float64(memory) > k.saves*float64(most) {
				t.Errorf("memory of a step is %d bytes, and %d where blocks are kept: expected at most %v of that", memory, most, k.saves)
			}
		})
	}
}

// TestRecomputeCopies: which nodes are copied, and which are not.
func TestRecomputeCopies(t *testing.T) {
	k := blocksCase{dtype: tensor.Float32, shape: []int{4}, build: func(c models.Context, x *G.Node, _ bool) *G.Node {
		var inside *G.Node
		x = layers.Recompute(c, x, func(x *G.Node) *G.Node {
			inside = ops.Tanh(c, layers.Dense(c, x, 4, layers.Weights{Name: "first"}))
			return layers.Recompute(c, inside, func(x *G.Node) *G.Node { return ops.Exp(c, ops.Sigmoid(c, x)) })
		})
		return x
	}}
	first, _, _, _ := k.traced(t, trace.FirstBatch, true)
	second, _, _, _ := k.traced(t, trace.SecondBatch, true)
	if err := trace.Unify(first, second); err != nil {
		t.Fatal(err)
	}
	copied := map[string]bool{}
	for _, n := range second.Graph.Nodes() {
		if name, found := strings.CutSuffix(n.Name, "/recomputed"); found {
			copied[name] = true
		}
		for _, in := range n.Inputs {
			if name := in.Node.Name; strings.HasPrefix(n.Name, "gradients/") && (name == "Tanh" || name == "Sigmoid") {
				t.Errorf("%s reads %s: expected the copy", n.Name, name)
			}
		}
	}
	if !copied["Tanh"] || !copied["Sigmoid"] || !copied["first/MatMul"] || copied["Exp"] || copied["Mean"] {
		t.Errorf("copies of %v: expected Tanh, Sigmoid and first/MatMul, neither the block's result Exp nor Mean", copied)
	}
}
