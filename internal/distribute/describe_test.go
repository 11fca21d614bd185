package distribute

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// TestGraphDigest: the digest depends on what the program computes, not on the names of its nodes.
func TestGraphDigest(t *testing.T) {
	build := func(change func(b *graph.Builder, p *TrainProgram)) string {
		b := graph.NewBuilder(graph.New())
		p := regression(b)
		if change != nil {
			change(b, &p)
		}
		if err := b.Err(); err != nil {
			t.Fatal(err)
		}
		return graphDigest(p)
	}
	constant := func(dtype tensor.DType, by byte) func(b *graph.Builder, p *TrainProgram) {
		return func(b *graph.Builder, p *TrainProgram) {
			value := tensor.New(dtype, 1)
			value.Bytes[0] = by
			p.Updates = append(p.Updates, Update{Variable: "x", Value: b.Const("by", value)})
		}
	}
	plain := build(nil)
	for name, change := range map[string]func(b *graph.Builder, p *TrainProgram){
		"another node beside": func(b *graph.Builder, p *TrainProgram) { b.Scalar("unused", tensor.Float32, 3) },
		"another fetch":       func(b *graph.Builder, p *TrainProgram) { p.Fetches = nil },
		"other names": func(b *graph.Builder, p *TrainProgram) {
			for _, n := range b.Graph.Nodes() {
				if len(n.Inputs) > 0 {
					n.Name += "_1"
				}
			}
		},
		"a private attribute": func(b *graph.Builder, p *TrainProgram) { p.Loss.Node.Attrs[graph.MayOverflow] = true },
	} {
		if got := build(change); got != plain {
			t.Errorf("%s: %s, expected %s", name, got, plain)
		}
	}
	seen := []string{plain}
	for name, change := range map[string]func(b *graph.Builder, p *TrainProgram){
		"another op":        func(b *graph.Builder, p *TrainProgram) { p.Loss.Node.Op = "Sum" },
		"another attribute": func(b *graph.Builder, p *TrainProgram) { p.Gradients[0].Node.Attrs["transpose_b"] = true },
		"another input": func(b *graph.Builder, p *TrainProgram) {
			n := p.Gradients[0].Node
			n.Inputs[0], n.Inputs[1] = n.Inputs[1], n.Inputs[0]
		},
		"another feed":            func(b *graph.Builder, p *TrainProgram) { p.Feeds[0].Node.Name = "z" },
		"another type":            func(b *graph.Builder, p *TrainProgram) { p.Feeds[0].Node.Outputs[0].Shape = graph.BatchOf(6) },
		"no update":               func(b *graph.Builder, p *TrainProgram) { p.Updates = nil },
		"an update elsewhere":     func(b *graph.Builder, p *TrainProgram) { p.Updates[0].Variable = "other" },
		"an argument":             func(b *graph.Builder, p *TrainProgram) { p.Args = append(p.Args, p.Loss) },
		"a sparse gradient":       func(b *graph.Builder, p *TrainProgram) { p.Gradients[0] = rowsOf(p.Gradients[0]) },
		"a constant":              constant(tensor.Float64, 2),
		"another constant":        constant(tensor.Float64, 3),
		"another constant type":   constant(tensor.Float32, 2),
		"a key of random numbers": constant(tensor.Uint64, 2),
	} {
		got := build(change)
		if slices.Contains(seen, got) {
			t.Errorf("%s: the digest is that of another program", name)
		}
		seen = append(seen, got)
	}
	if build(constant(tensor.Uint64, 2)) != build(constant(tensor.Uint64, 5)) {
		t.Error("keys of random numbers, which follow from the seed, are in the digest")
	}
}

func rowsOf(v lower.Value) lower.Value {
	return lower.SparseValue(graph.ShapeOf(5, 7), lower.Slices{Rows: v.Output, Indices: v.Output})
}

// TestDescribeGroups: each of several groups has its own settings.
func TestDescribeGroups(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	p := regression(b)
	one := p.Train.Groups[0]
	two := one
	two.LearningRate = optimizers.Exponential{Decay: optimizers.Decay{Initial: 0.1, Steps: 10, Rate: 0.5}}
	p.Train.Groups = append(p.Train.Groups, two)
	s := settings.Make(describe(p, Config{}, &remoteVariables{}))
	for name, want := range map[string]string{
		"learning_rate of group 0": "0.01", "variables of group 1": "w", "optimizer of group 0": "SGD{}", "batch_size": "none", "seed": "none",
		"learning_rate of group 1": "Exponential{Decay:Decay{Initial:0.1, Steps:10, Rate:0.5, Staircase:false}}",
	} {
		if s[name] != want {
			t.Errorf("%s is %q, expected %q", name, s[name], want)
		}
	}
	p.Train = &optimizers.TrainOp{Step: &optimizers.StepOp{Function: "trees", Config: []byte("a")}}
	a := settings.Make(describe(p, Config{}, &remoteVariables{}))
	p.Train.Step.Config = []byte("b")
	list := a.Differences(settings.Make(describe(p, Config{}, &remoteVariables{})))
	if a["step_function"] != "trees" || len(list) != 1 || list[0].Name != "step_function config" {
		t.Errorf("step functions: %v, %v", a, list)
	}
}
