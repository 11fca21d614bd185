package main

import (
	"fmt"
	"strings"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/layers"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"
)

// networks build logits, as users of GoMLX write them.
var networks = map[string]func(ctx *context.Context, x *Node) *Node{
	"mlp": func(ctx *context.Context, x *Node) *Node {
		x = activations.Relu(layers.DenseWithBias(ctx.In("dense"), x, 512))
		x = activations.Relu(layers.DenseWithBias(ctx.In("dense_1"), x, 256))
		return layers.DenseWithBias(ctx.In("dense_2"), x, 10)
	},
	"cnn": func(ctx *context.Context, x *Node) *Node {
		for i, filters := range []int{32, 64} {
			x = layers.Convolution(ctx.In(numbered("conv2d", i)), x).Channels(filters).KernelSize(3).PadSame().Done()
			x = MaxPool(activations.Relu(x)).Window(2).Done()
		}
		x = Reshape(x, x.Shape().Dimensions[0], -1)
		x = activations.Relu(layers.DenseWithBias(ctx.In("dense"), x, 128))
		return layers.DenseWithBias(ctx.In("dense_1"), x, 10)
	},
}

// numbered is the name of the i-th layer of a kind.
func numbered(kind string, i int) string {
	if i == 0 {
		return kind
	}
	return fmt.Sprintf("%s_%d", kind, i)
}

// newContext holds the given weights where the layers look for them: GoMLX adds
// a scope of its own within a layer's.
func newContext(g *given) (*context.Context, error) {
	ctx := context.New().Checked(false)
	for _, t := range g.list {
		if t.Data {
			continue
		}
		v, _, err := read[float32](g, t.Name)
		if err != nil {
			return nil, err
		}
		scope, part, _ := strings.Cut(t.Name, "/")
		inner := "dense"
		if strings.HasPrefix(scope, "conv2d") {
			inner = "conv"
		}
		name := map[string]string{"kernel": "weights", "bias": "biases"}[part]
		ctx.In(scope).In(inner).VariableWithValue(name, tensors.FromFlatDataAndDimensions(v, t.Shape...))
	}
	return ctx, nil
}
