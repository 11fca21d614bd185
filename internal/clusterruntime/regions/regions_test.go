package regions_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/regions"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(kernels.WorkerFunction))
}

// box is a rendezvous in which sent items can be received by the name of the edge.
type box struct{ *rendezvous.Table }

func (b box) Send(key rendezvous.Key, item rendezvous.Item) error {
	return b.Table.Send(key.Edge, item)
}
func (b box) Recv(ctx context.Context, key rendezvous.Key) (rendezvous.Item, error) {
	return b.Table.Recv(ctx, key.Edge)
}

// text builds a graph.
type text struct{ *graph.Builder }

func newText() text { return text{graph.NewBuilder(graph.New())} }

// recv is a tensor sent by another task.
func (b text) recv(edge string) graph.Output {
	return b.Op("_Recv", edge, graph.Type{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}, graph.Attrs{"tensor_name": []byte(edge), "tensor_type": tensor.Float32})
}

func (b text) op(op string, in ...graph.Output) graph.Output {
	return b.Op(op, strings.ToLower(op), graph.Type{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}, graph.Attrs{"T": tensor.Float32}, in...)
}

func (b text) send(edge string, o graph.Output) {
	b.Node("_Send", "send_"+edge, nil, graph.Attrs{"tensor_name": []byte(edge), "T": tensor.Float32}, o)
}

// matrix is n times n numbers.
func matrix(n, first int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, n, n)
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = float32((first+i*7)%11-5) / 8
	}
	return t
}

// program compiles a graph, with regions or without.
func program(t rapid.TB, b text, fused bool) (*dataflow.Program, *regions.Regions) {
	t.Helper()
	g, set := b.Graph, &regions.Regions{}
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	if fused {
		var err error
		if g, set, err = regions.Fuse(g, dataflow.Waits); err != nil {
			t.Fatal(err)
		}
	}
	p, err := dataflow.Compile(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, set
}

// run runs a step and returns the table with the items that it sent.
func run(p *dataflow.Program, sent map[string]rendezvous.Item) (*rendezvous.Table, error) {
	table := rendezvous.New()
	for edge, item := range sent {
		if err := table.Send(edge, item); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return table, p.Run(ctx, dataflow.Step{Env: &eager.Env{}, Rendezvous: box{table}, Parallel: 2})
}

// draws are the choices from which the same graph can be built repeatedly.
type draws []int

func (d draws) graph() (b text, outputs int) {
	b = newText()
	values := []graph.Output{b.recv("x"), b.recv("y"), b.Const("c", matrix(4, 3))}
	for i := 0; i+2 < len(d); i += 3 {
		one, other := values[d[i+1]%len(values)], values[d[i+2]%len(values)]
		switch d[i] % 12 {
		case 0, 1, 2:
			attrs := graph.Attrs{"T": tensor.Float32, "transpose_a": d[i+1]%3 == 0, "transpose_b": false}
			values = append(values, b.Op("MatMul", "matmul", graph.Type{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}, attrs, one, other))
		case 3:
			values = append(values, b.op("AddV2", one, other))
		case 4:
			values = append(values, b.op("Mul", one, other))
		case 5:
			values = append(values, b.op("ReluGrad", one, other))
		case 6:
			values = append(values, b.op("Maximum", one, other))
		default:
			values = append(values, b.op([]string{"Relu", "Tanh", "Sigmoid", "Neg", "Square"}[d[i]%12-7], one))
		}
	}
	for i, v := range values[3:] {
		if i%3 == 0 || i == len(values)-4 {
			b.send(fmt.Sprint("out", outputs), v)
			outputs++
		}
	}
	return b, outputs
}

// TestNumbersStay: graphs give the same results with regions as without, run after run, for matrices of several sizes.
func TestNumbersStay(t *testing.T) {
	fused, drawn := 0, rapid.SliceOfN(rapid.IntRange(0, 1<<20), 9, 90)
	for seed := range 30 {
		d := draws(drawn.Example(seed))
		whole, outputs := d.graph()
		again, _ := d.graph()
		plain, _ := program(t, whole, false)
		p, set := program(t, again, true)
		fused += set.Len()
		for i := range 8 {
			in := map[string]rendezvous.Item{"x": {Tensor: matrix(4, i)}, "y": {Tensor: matrix(4, 2*i)}}
			want, err := run(plain, in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(p, in)
			if err != nil {
				t.Fatal(err)
			}
			for k := range outputs {
				equal(t, got, want, fmt.Sprint("out", k))
			}
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
	if fused == 0 {
		t.Error("no graph had a region")
	}
}

// equal compares the items that two steps sent.
func equal(t rapid.TB, got, want *rendezvous.Table, edge string) {
	t.Helper()
	a, err1 := got.Recv(context.Background(), edge)
	b, err2 := want.Recv(context.Background(), edge)
	if err1 != nil || err2 != nil || a.Dead != b.Dead {
		t.Fatalf("%s: %v, %v, dead %v and %v", edge, err1, err2, a.Dead, b.Dead)
	}
	if !slices.Equal(a.Tensor.Shape, b.Tensor.Shape) {
		t.Fatalf("%s: got shape %v, expected %v", edge, a.Tensor.Shape, b.Tensor.Shape)
	}
	for i := range a.Tensor.Len() {
		x, y := a.Tensor.Float(i), b.Tensor.Float(i)
		if !testkit.Near(x, y, 1e-5*max(1, math.Abs(y))) {
			t.Fatalf("%s: element %d is %v, op by op it is %v", edge, i, x, y)
		}
	}
}

// layers are a chain of products that is worth a region.
func (b text) layers(o graph.Output) graph.Output {
	for range 3 {
		o = b.op("Tanh", b.op("Add", b.Op("MatMul", "matmul", o.Type(), graph.Attrs{"T": tensor.Float32}, o, o), o))
	}
	return o
}

// echoes is a task that answers an item sent as "there" with an item received as "back".
type echoes struct{ box }

func (e echoes) Send(key rendezvous.Key, item rendezvous.Item) error {
	if key.Edge == "there" {
		key.Edge = "back"
	}
	return e.box.Send(key, item)
}

// TestRegionsDoNotWaitForThemselves: a tensor that a task receives may depend on one that it sends in the same step.
func TestRegionsDoNotWaitForThemselves(t *testing.T) {
	b := newText()
	first := b.layers(b.recv("x"))
	b.send("there", first)
	b.send("out", b.layers(b.op("Add", first, b.recv("back"))))
	p, set := program(t, b, true)
	if set.Len() != 2 {
		t.Errorf("got %d regions, expected 2", set.Len())
	}
	for range 4 {
		table := rendezvous.New()
		if err := table.Send("x", rendezvous.Item{Tensor: matrix(4, 1)}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := p.Run(ctx, dataflow.Step{Env: &eager.Env{}, Rendezvous: echoes{box{table}}, Parallel: 2}); err != nil {
			t.Error(err)
		}
		cancel()
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}

// TestDeadRegions: if a branch of another task was not taken, everything after it is dead, and nothing else.
func TestDeadRegions(t *testing.T) {
	b := newText()
	x := b.layers(b.recv("x"))
	b.send("live", x)
	b.send("dead", b.layers(b.op("Add", x, b.recv("y"))))
	p, set := program(t, b, true)
	for range 4 {
		table, err := run(p, map[string]rendezvous.Item{"x": {Tensor: matrix(4, 1)}, "y": {Dead: true}})
		if err != nil {
			t.Fatal(err)
		}
		for edge, dead := range map[string]bool{"live": false, "dead": true} {
			if item, err := table.Recv(t.Context(), edge); err != nil || item.Dead != dead {
				t.Errorf("%s: %v, dead %v", edge, err, item.Dead)
			}
		}
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}

// TestRegionsOfManySizes: a region runs op by op if sizes keep changing, or do not fit.
func TestRegionsOfManySizes(t *testing.T) {
	b, plain := newText(), newText()
	for _, g := range []text{b, plain} {
		g.send("out", g.layers(g.op("AddV2", g.recv("x"), g.recv("y"))))
	}
	p, set := program(t, b, true)
	want, _ := program(t, plain, false)
	for i := range 40 {
		n := 1 + i%12
		in := map[string]rendezvous.Item{"x": {Tensor: matrix(n, i)}, "y": {Tensor: matrix(n, 1)}}
		got, err := run(p, in)
		if err != nil {
			t.Fatal(err)
		}
		table, err := run(want, in)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, table, "out")
		in["y"] = rendezvous.Item{Tensor: matrix(n+1, 1)}
		if n == 1 {
			continue // it is broadcast
		}
		if _, err := run(p, in); err == nil || !strings.Contains(err.Error(), `"addv2"`) {
			t.Errorf("sizes that do not fit: got %v, expected an error that names the node", err)
		}
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}
