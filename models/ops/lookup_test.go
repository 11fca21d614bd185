package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	"pgregory.net/rapid"
)

// lookupProgram looks up rows of in0 by ragged ids in1 with offsets in2 and weights in3.
// Its roots are the result and, for the cotangent cot, the table's gradient.
func lookupProgram(t testing.TB, l lookupCase) *modeltest.Program {
	return modeltest.New(t, models.Options{Mode: models.Train}, func(b *models.Builder) []*G.Node {
		table := b.Input("table", tensor.Float32, l.rows, l.Width)
		r := b.Ragged("ids", l.ids, models.RaggedSize{Capacity: l.capacity})
		cot := b.Input("cot", tensor.Float32, b.Batch(), l.Width)
		if l.Weights != nil {
			r = r.WithWeights(b, b.Ragged("weights", tensor.Float32, models.RaggedSize{Capacity: l.capacity}))
		}
		y := ops.LookupSparse(b, table, r, l.Combiner, l.MaxNorm)
		if b.Failed() {
			return nil
		}
		grads, err := G.Grad(ops.Sum(b, ops.Mul(b, y, cot)), table)
		if err != nil {
			b.Fail(err)
			return nil
		}
		return []*G.Node{y, grads[0]}
	})
}

// lookupCase is a lookup with its data and TensorFlow's result.
type lookupCase struct {
	Function, Combiner string
	MaxNorm            float64 `json:"max_norm"`
	Width              int
	IDs, Offsets       []int64
	Weights            []float32
	Table, Cot         []float32
	Y, Grad            []float64

	rows, capacity int
	ids            tensor.DType
}

// feeds are the tensors of lookupProgram.
func (l lookupCase) feeds(t testing.TB) []*tensor.Tensor {
	batch := len(l.Offsets) - 1
	ids, weights := make([]float64, batch*l.capacity), make([]float64, batch*l.capacity)
	for i := range ids {
		if ids[i] = -1; i < len(l.IDs) {
			ids[i] = float64(l.IDs[i])
		}
		if i < len(l.Weights) {
			weights[i] = float64(l.Weights[i])
		}
	}
	table, _ := tensor.FromSlice(l.Table, l.rows, l.Width)
	offsets, _ := tensor.FromSlice(l.Offsets, batch+1)
	cot, _ := tensor.FromSlice(l.Cot, batch, l.Width)
	out := []*tensor.Tensor{table, modeltest.Tensor(l.ids, ids, len(ids)), offsets, cot}
	if l.Weights != nil {
		out = append(out, modeltest.Tensor(tensor.Float32, weights, len(weights)), offsets)
	}
	return out
}

func near(got, want []float64) error {
	for i := range want {
		if !testkit.Near(got[i], want[i], 2e-5*math.Max(1, math.Abs(want[i]))) {
			return fmt.Errorf("element %d is %v, expected %v", i, got[i], want[i])
		}
	}
	return nil
}

// TestLookupSparseIsTensorFlows compares with the golden values of testdata/lookup.py.
func TestLookupSparseIsTensorFlows(t *testing.T) {
	data, err := os.ReadFile("testdata/lookup.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []lookupCase
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		l.rows, l.capacity, l.ids = len(l.Table)/l.Width, 4, tensor.Int64
		name := fmt.Sprintf("%s %s, weights %v, max norm %v, width %d", l.Function, l.Combiner, l.Weights != nil, l.MaxNorm, l.Width)
		out := lookupProgram(t, l).Host(t, len(l.Offsets)-1, l.feeds(t)...)
		if err := errors.Join(near(modeltest.Floats(out[0]), l.Y), near(modeltest.Floats(out[1]), l.Grad)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLookupSparseProperties compares with a loop over examples, of any lengths.
func TestLookupSparseProperties(t *testing.T) {
	programs := map[string]*modeltest.Program{}
	rapid.Check(t, func(r *rapid.T) {
		l := lookupCase{rows: 9, capacity: 4, ids: rapid.SampledFrom([]tensor.DType{tensor.Int32, tensor.Int64}).Draw(r, "type"),
			Combiner: rapid.SampledFrom([]string{"mean", "sqrtn", "sum"}).Draw(r, "combiner"), Width: rapid.SampledFrom([]int{1, 3, 17}).Draw(r, "width")}
		batch := rapid.IntRange(1, 12).Draw(r, "batch")
		l.Offsets = []int64{0}
		for range batch {
			room := batch*l.capacity - len(l.IDs)
			for range rapid.IntRange(0, min(room, 9)).Draw(r, "length") {
				l.IDs = append(l.IDs, rapid.Int64Range(-2, 8).Draw(r, "id"))
			}
			l.Offsets = append(l.Offsets, int64(len(l.IDs)))
		}
		if rapid.Bool().Draw(r, "weighted") {
			l.Weights = make([]float32, len(l.IDs))
			for i := range l.Weights {
				l.Weights[i] = float32(rapid.IntRange(-2, 6).Draw(r, "weight")) / 4
			}
		}
		for i := range l.rows * l.Width {
			l.Table = append(l.Table, float32(i%11)/4-1)
		}
		for i := range batch * l.Width {
			l.Cot = append(l.Cot, float32(i%5)/2-1)
		}
		key := fmt.Sprint(l.ids, l.Combiner, l.Width, l.Weights != nil)
		if programs[key] == nil {
			programs[key] = lookupProgram(t, l)
		}
		out := programs[key].Host(t, batch, l.feeds(t)...)
		y, grad := l.byDefinition()
		if err := errors.Join(near(modeltest.Floats(out[0]), y), near(modeltest.Floats(out[1]), grad)); err != nil {
			r.Fatalf("%+v: %v", l, err)
		}
	})
}

// byDefinition computes the lookup and its gradient by their definitions.
func (l lookupCase) byDefinition() (y, grad []float64) {
	y, grad = make([]float64, len(l.Cot)), make([]float64, len(l.Table))
	for e := range len(l.Offsets) - 1 {
		type used struct {
			row int
			w   float64
		}
		var rows []used
		sum, squares := 0.0, 0.0
		for i := l.Offsets[e]; i < l.Offsets[e+1]; i++ {
			w := 1.0
			if l.Weights != nil {
				w = float64(l.Weights[i])
			}
			if l.IDs[i] < 0 || w <= 0 && l.Combiner != "sum" {
				continue
			}
			rows = append(rows, used{int(l.IDs[i]), w})
			sum, squares = sum+w, squares+w*w
		}
		by := map[string]float64{"sum": 1, "mean": sum, "sqrtn": math.Sqrt(squares)}[l.Combiner]
		for _, u := range rows {
			for c := range l.Width {
				y[e*l.Width+c] += u.w / by * float64(l.Table[u.row*l.Width+c])
				grad[u.row*l.Width+c] += u.w / by * float64(l.Cot[e*l.Width+c])
			}
		}
	}
	return y, grad
}

func TestLookupsOfRowsThatAreNotThere(t *testing.T) {
	l := lookupCase{rows: 3, capacity: 2, ids: tensor.Int64, Combiner: "sum", Width: 2, IDs: []int64{1, 2, 3}, Offsets: []int64{0, 1, 3},
		Table: make([]float32, 6), Cot: make([]float32, 4)}
	p := lookupProgram(t, l)
	dev := device.NewHost()
	defer dev.Close()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		t.Fatal(err)
	}
	var feeds []graph.Output
	for _, n := range p.Graph.Nodes() {
		if n.Op == "Placeholder" && n.Name != "global_step" {
			feeds = append(feeds, n.Out(0))
		}
	}
	prog, err := engine.Compile(p.Graph, engine.Spec{Feeds: feeds, Fetches: p.Roots()[:1]}, dev, vars, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	var index *engine.IndexError
	if err := prog.Run(context.Background(), 2, l.feeds(t)); !errors.As(err, &index) || index.Index != 3 || index.Position != 2 || index.Size != 3 {
		t.Errorf("got %v", err)
	}
	for _, offsets := range [][]int64{{0, 2, 5}, {0, 3, 2}, {1, 1, 2}, {0, -1, 2}} {
		l.IDs, l.Offsets = []int64{0, 1}, offsets
		if err := prog.Run(context.Background(), 2, l.feeds(t)); err == nil || !strings.Contains(err.Error(), "offsets") {
			t.Errorf("offsets %v: got %v", offsets, err)
		}
	}
}

func TestRaggedMistakes(t *testing.T) {
	type build = func(b *models.Builder, table *G.Node, r *models.Ragged) *G.Node
	for want, f := range map[string]build{
		`combiner "max": expected mean, sqrtn or sum`: func(b *models.Builder, table *G.Node, r *models.Ragged) *G.Node {
			return ops.LookupSparse(b, table, r, "max", 0)
		},
		"norm NaN: expected a limit": func(b *models.Builder, table *G.Node, r *models.Ragged) *G.Node {
			return ops.LookupSparse(b, table, r, "sum", math.NaN())
		},
		"ids are float32: expected int32 or int64": func(b *models.Builder, table *G.Node, _ *models.Ragged) *G.Node {
			return ops.LookupSparse(b, table, b.Ragged("x", tensor.Float32, models.RaggedSize{}), "sum", 0)
		},
		"the ragged operand is nil": func(b *models.Builder, table *G.Node, _ *models.Ragged) *G.Node {
			return ops.LookupSparse(b, table, nil, "sum", 0)
		},
		"the operand has no values and offsets": func(b *models.Builder, _ *G.Node, _ *models.Ragged) *G.Node {
			return ops.SequenceLengths(b, &models.Ragged{})
		},
		"0 steps: expected at least 1": func(b *models.Builder, _ *G.Node, r *models.Ragged) *G.Node {
			return ops.RaggedToDense(b, r, 0)
		},
		"the table is int64": func(b *models.Builder, _ *G.Node, r *models.Ragged) *G.Node {
			return ops.Lookup(b, r.Offsets, r.Values)
		},
		`weights "w" of column "ids"`: func(b *models.Builder, table *G.Node, r *models.Ragged) *G.Node {
			r = r.WithWeights(b, b.Ragged("w", tensor.Int64, models.RaggedSize{}))
			return ops.LookupSparse(b, table, r, "sum", 0)
		},
	} {
		_, err := models.Build(models.Options{Batch: 3}, func(b *models.Builder) error {
			f(b, b.Input("table", tensor.Float32, 4, 2), b.Ragged("ids", tensor.Int64, models.RaggedSize{}))
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %s, got %v", want, err)
		}
	}
}
