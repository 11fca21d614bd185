package export_test

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// supervised returns a graph that subtracts the rows it read from a table, and has a local variable.
func supervised(mode models.Mode) (*toy, export.Graph) {
	m := newToy()
	b := m.b
	tableType := graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(3, 2)}
	table := b.Variable("table", tableType)
	rows := b.Op("GatherV2", "rows", typ(tensor.Float32, graph.Shape{Dims: []graph.Dim{m.ids.Shape().Dims[0], graph.Fixed(2)}}),
		graph.Attrs{"Tparams": tensor.Float32, "Tindices": m.ids.DType(), "Taxis": tensor.Int32, "batch_dims": int64(0), graph.NegativeGivesZeros: true},
		b.Read(table, tableType), m.ids, b.Scalar("rows/axis", tensor.Int32, 0))
	update := b.Node("ResourceScatterSub", "update", nil, graph.Attrs{"dtype": tensor.Float32, "Tindices": m.ids.DType()}, table, m.ids, rows)
	after := b.Read(table, tableType, update)
	seen := b.Variable("metrics/seen/sums", typ(tensor.Float64, graph.ShapeOf(1)))
	value := b.Read(seen, typ(tensor.Float64, graph.ShapeOf(1)))
	kind := export.Training
	g := export.Graph{Mode: mode, IR: b.Graph, Feeds: m.feeds(), TrainOp: []*graph.Node{update, after.Node}, Local: map[string]*tensor.Tensor{"metrics/seen/sums": tensor.New(tensor.Float64, 1)}}
	if mode == models.Eval {
		kind, g.TrainOp = export.Eval, nil
	}
	g.Signatures = []export.Signature{{Name: string(kind), Kind: kind, Outputs: []export.Named{{Name: "sum", Output: m.sum}, {Name: "seen", Output: value}}}}
	return m, g
}

// TestTrainOp: an update comes after the reads that must see the old value, and gets each row once.
func TestTrainOp(t *testing.T) {
	m, made := supervised(models.Train)
	g := read(t, write(t, m.model(made)), savedmodel.TagTrain)
	if got := g.Proto.GetCollectionDef()[savedmodel.CollectionTrainOp].GetNodeList().GetValue(); !slices.Equal(got, []string{"train_op"}) {
		t.Fatalf("the train op is %q", got)
	}
	update := g.Graph.Node("update")
	if !slices.Contains(g.Graph.Node("train_op").Control, update) {
		t.Error("the train op does not run the update")
	}
	if update.Inputs[1].Node.Op != "Unique" || update.Inputs[2].Node.Op != "UnsortedSegmentSum" {
		t.Errorf("the update takes %s and %s: expected each index once", update.Inputs[1].Node.Op, update.Inputs[2].Node.Op)
	}
	before, after := 0, 0
	for _, n := range g.Graph.Nodes() {
		if n.Op != "ReadVariableOp" || n.Inputs[0] != update.Inputs[0] {
			continue
		}
		switch {
		case slices.Contains(n.Control, update):
			after++
		case graph.Reachable(update)[n]:
			before++
		}
	}
	if before < 2 || after != 1 {
		t.Errorf("%d reads precede the update and %d follow it: expected at least 2, and 1", before, after)
	}
}

// TestLocal: a local variable is not in the bundle, and the main op resets it.
func TestLocal(t *testing.T) {
	m, made := supervised(models.Eval)
	g := read(t, write(t, m.model(made)), savedmodel.TagEval)
	for _, c := range []string{"local_variables", "metric_variables"} {
		if n := len(g.Proto.GetCollectionDef()[c].GetBytesList().GetValue()); n != 1 {
			t.Errorf("collection %s has %d variables, expected 1", c, n)
		}
	}
	if !slices.Equal(g.InitOps, []string{"init"}) || g.Graph.Node("init").Control[0].Op != "AssignVariableOp" {
		t.Errorf("init ops %q: expected one that assigns", g.InitOps)
	}
	r, err := g.Variables()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, ok := r.Lookup("metrics/seen/sums"); ok {
		t.Error("a local variable is in the bundle")
	}
}

// TestTrainOpWrong: nodes of other graphs, and initial values that do not fit, are refused.
func TestTrainOpWrong(t *testing.T) {
	_, other := supervised(models.Train)
	m, g := supervised(models.Train)
	g.TrainOp = other.TrainOp
	refused(t, "a train op of another graph", m.model(g))
	m, g = supervised(models.Eval)
	g.Local = map[string]*tensor.Tensor{"metrics/seen/sums": tensor.New(tensor.Float64, 2)}
	refused(t, "a first value of another shape", m.model(g))
}

func refused(t *testing.T, what string, m export.Model) {
	t.Helper()
	if _, err := export.SavedModel(atomicfile.OS{}, t.TempDir(), m, withoutLog); err == nil {
		t.Errorf("%s: expected an error", what)
	}
}
