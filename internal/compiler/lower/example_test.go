package lower_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Gorgonia differentiates a loss; loss and gradient become nodes with TensorFlow's ops.
func ExampleExpressions() {
	g := G.NewGraph()
	x := G.NewMatrix(g, G.Float32, G.WithShape(4, 2), G.WithName("x"))
	w := G.NewMatrix(g, G.Float32, G.WithShape(2, 1), G.WithName("w"))
	loss := G.Must(G.Sum(G.Must(G.Square(G.Must(G.Mul(x, w))))))
	grads, err := G.Grad(loss, w)
	if err != nil {
		log.Fatal(err)
	}

	b := graph.NewBuilder(graph.New())
	kind := graph.TypeOf(tensor.Float32, 2, 1)
	leaves := map[*G.Node]graph.Output{
		x: b.Placeholder("x", graph.TypeOf(tensor.Float32, 4, 2)),
		w: b.Read(b.Variable("w", kind), kind),
	}
	values, err := lower.Expressions(b, lower.Options{}, []*G.Node{loss, grads[0]}, leaves)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("loss:", values[0].Output, values[0].Shape())
	fmt.Println("gradient:", values[1].Output, values[1].Shape())
	for _, n := range b.Graph.Nodes() {
		if n.Op == "MatMul" {
			fmt.Println(n.Name, "of", n.Inputs)
		}
	}

	var leaf *lower.LeafError
	delete(leaves, w)
	_, err = lower.Expressions(graph.NewBuilder(graph.New()), lower.Options{}, []*G.Node{loss}, leaves)
	if errors.As(err, &leaf) {
		fmt.Println("neither fed nor a variable:", leaf.Node)
	}
	// Output:
	// loss: Sum:0 []
	// gradient: gradients/MatMul:0 [2,1]
	// MatMul of [x:0 w/Read/ReadVariableOp:0]
	// gradients/MatMul of [x:0 gradients/Mul_1:0]
	// neither fed nor a variable: w
}
