package main

import (
	"fmt"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"
)

// networks build logits, in the style of GoMLX's users.
var networks = map[string]func(scope *model.Scope, x *Node) *Node{
	"mlp": func(scope *model.Scope, x *Node) *Node {
		x = activation.Relu(layers.DenseWithBias(scope.At("dense"), x, 512))
		x = activation.Relu(layers.DenseWithBias(scope.At("dense_1"), x, 256))
		return layers.DenseWithBias(scope.At("dense_2"), x, 10)
	},
	"cnn": func(scope *model.Scope, x *Node) *Node {
		for i, filters := range []int{32, 64} {
			x = layers.Convolution(scope.At("%s", numbered("conv2d", i)), x).Channels(filters).KernelSize(3).PadSame().Done()
			x = MaxPool(activation.Relu(x)).Window(2).Done()
		}
		x = Reshape(x, x.Shape().Dimensions[0], -1)
		x = activation.Relu(layers.DenseWithBias(scope.At("dense"), x, 128))
		return layers.DenseWithBias(scope.At("dense_1"), x, 10)
	},
}

// numbered is the name of the i-th layer of a kind.
func numbered(kind string, i int) string {
	if i == 0 {
		return kind
	}
	return fmt.Sprintf("%s_%d", kind, i)
}

// newStore holds the given weights where the layers look for them: GoMLX adds
// its own scope within a layer's.
func newStore(g *fixtures) (*model.Store, error) {
	store := model.NewStore()
	for _, t := range g.list {
		if t.Data {
			continue
		}
		v, _, err := read[float32](g, t.Name)
		if err != nil {
			return nil, err
		}
		layer, part, _ := strings.Cut(t.Name, "/")
		inner := "dense"
		if strings.HasPrefix(layer, "conv2d") {
			inner = "conv"
		}
		name := map[string]string{"kernel": "weights", "bias": "biases"}[part]
		store.RootScope().At("%s", layer).At("%s", inner).VariableWithValue(name, tensors.FromFlatDataAndDimensions(v, t.Shape...))
	}
	return store, nil
}
