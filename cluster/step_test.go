package cluster_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/cluster/inprocess"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
)

// pulled is a graph whose target "pull" gets so many variables of 250,000 numbers from a parameter server; "init" gives them values.
func pulled(t testing.TB, variables int) *cluster.Graph {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	pull, init := b.Node("NoOp", "pull", nil, nil), b.Node("NoOp", "init", nil, nil)
	for i := range variables {
		v := b.Variable(fmt.Sprint("v", i), graph.TypeOf(tensor.Float32, 250_000))
		read := b.Op("ReadVariableOp", fmt.Sprint("read", i), v.Type(), graph.Attrs{"dtype": tensor.Float32}, v)
		here := b.Op("Identity", fmt.Sprint("here", i), v.Type(), graph.Attrs{"T": tensor.Float32}, read)
		first := b.Const(fmt.Sprint("first", i), tensor.New(tensor.Float32, 250_000))
		assign := b.Node("AssignVariableOp", fmt.Sprint("assign", i), nil, graph.Attrs{"dtype": tensor.Float32}, v, first)
		for _, n := range []*graph.Node{v.Node, read.Node, first.Node, assign} {
			n.Device = "/job:ps/task:0"
		}
		pull.Control, init.Control = append(pull.Control, here.Node), append(init.Control, assign)
	}
	def, err := graphdef.Marshal(b.Graph)
	if err != nil || b.Err() != nil {
		t.Fatal(err, b.Err())
	}
	g, err := cluster.ReadGraph(def)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// BenchmarkPull gets variables of 1 MB from a parameter server in this process.
func BenchmarkPull(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, err := inprocess.Start(map[string]int{"worker": 1, "ps": 1})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			s, err := cluster.Dial(context.Background(), c.Target("worker", 0), pulled(b, n))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close(context.Background())
			if _, err := s.Run(b.Context(), nil, nil, "init"); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(n) * 1_000_000)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Run(b.Context(), nil, nil, "pull"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
