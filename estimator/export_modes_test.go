package estimator_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	G "gorgonia.org/gorgonia"
)

// headed is an Estimator of a linear model under a head, trained for a step.
func headed(t *testing.T, h heads.Head, labels inputs.NamedTensor) (*estimator.Estimator, []inputs.Column) {
	t.Helper()
	in := columnsOf(inputs.Slice("x", inputs.Feature, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 2), labels)
	network := func(mc models.Context, f models.Features, n int) *G.Node {
		return layers.Dense(mc, f.Dense("x"), n, layers.Weights{})
	}
	fn := heads.ModelFn(network, h, optimizers.SGD(0.1))
	e := custom(t, fn, t.TempDir())
	if _, err := e.Train(context.Background(), in, estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	ds, err := in.Input(context.Background(), inputs.Context{})
	if err != nil {
		t.Fatal(err)
	}
	return e, ds.Schema().Columns()
}

// TestExportModesOfHeads: labels that heads encode on the host are fed encoded to
// the graphs of evaluation and training.
func TestExportModesOfHeads(t *testing.T) {
	three := heads.MultiClass(3, heads.WithLabelVocabulary("a", "b", "c"))
	many := heads.MultiLabel(3)
	binary := heads.BinaryClass()
	for name, c := range map[string]struct {
		head   heads.Head
		labels inputs.NamedTensor
		dtype  types_go_proto.DataType
		rank   int
	}{
		"words":  {three, inputs.Strings("label", inputs.Label, []string{"a", "c", "b", "a"}), types_go_proto.DataType_DT_INT64, 1},
		"many":   {many, inputs.Slice("label", inputs.Label, []int64{0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1}, 3), types_go_proto.DataType_DT_FLOAT, 2},
		"binary": {binary, inputs.Slice("label", inputs.Label, []int64{0, 1, 1, 0}), types_go_proto.DataType_DT_FLOAT, 2},
	} {
		t.Run(name, func(t *testing.T) {
			e, columns := headed(t, c.head, c.labels)
			dir, err := e.ExportSavedModel(context.Background(), t.TempDir(), estimator.RawServingInput(columns...), estimator.ExportModes(models.Eval, models.Train))
			if err != nil {
				t.Fatal(err)
			}
			m, err := savedmodel.Read(dir, savedmodel.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			checkEvalGraph(t, e, m, c.labels)
			checkTrainGraph(t, m)
			for tag, key := range map[string]string{savedmodel.TagEval: "eval", savedmodel.TagTrain: "train"} {
				g, err := m.MetaGraph(tag)
				if err != nil {
					t.Fatal(err)
				}
				in := g.Signatures[key].GetInputs()["label"]
				if in.GetDtype() != c.dtype || len(in.GetTensorShape().GetDim()) != c.rank {
					t.Errorf("%s: label is %v, expected %v", tag, in, c.dtype)
				}
			}
		})
	}
}

// checkEvalGraph runs the metrics of the exported graph, batch by batch, and compares them with the result
// of Evaluate.
func checkEvalGraph(t *testing.T, e *estimator.Estimator, m *savedmodel.Model, labels inputs.NamedTensor) {
	t.Helper()
	g, err := m.MetaGraph(savedmodel.TagEval)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Load(context.Background(), g, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sig := g.Signatures["eval"]
	x, label := inputs.Slice("x", inputs.Feature, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 2), encodedLabel(t, labels, sig.GetInputs()["label"])
	result, err := e.Evaluate(context.Background(), columnsOf(x, labels))
	if err != nil {
		t.Fatal(err)
	}
	feeds := map[string]*tensor.Tensor{sig.GetInputs()["x"].GetName(): x.Tensor, sig.GetInputs()["label"].GetName(): label}
	for name, want := range result.Metrics {
		if name == "loss" {
			continue
		}
		update, value := sig.GetOutputs()["metrics/"+name+"/update_op"], sig.GetOutputs()["metrics/"+name+"/value"]
		if update == nil || value == nil {
			t.Errorf("metric %s is not exported", name)
			continue
		}
		for _, run := range []struct {
			feeds map[string]*tensor.Tensor
			fetch string
		}{{feeds, update.GetName()}, {nil, value.GetName()}} {
			got, err := s.Run(context.Background(), run.feeds, []string{run.fetch})
			if err != nil {
				t.Fatalf("metric %s: %v", name, err)
			}
			if w, _ := want.Scalar(); math.Abs(got[0].Float(0)-w) > 1e-6*max(1, math.Abs(w)) {
				t.Errorf("metric %s: %s is %v, expected %v", name, run.fetch, got[0].Float(0), w)
			}
		}
	}
}

// encodedLabel is a label as heads encode it.
func encodedLabel(t *testing.T, labels inputs.NamedTensor, as *pb.TensorInfo) *tensor.Tensor {
	t.Helper()
	shape := slices.Clone(labels.Tensor.Shape)
	if len(shape) < len(as.GetTensorShape().GetDim()) {
		shape = append(shape, 1)
	}
	out := tensor.New(tensor.DType(as.GetDtype()), shape...)
	for i := range out.Len() {
		switch {
		case labels.Tensor.DType == tensor.String:
			tensor.Values[int64](out)[i] = int64(labels.Tensor.Strings[i][0] - 'a')
		case out.DType == tensor.Float32:
			tensor.Values[float32](out)[i] = float32(labels.Tensor.Float(i))
		default:
			tensor.Values[int64](out)[i] = int64(labels.Tensor.Float(i))
		}
	}
	return out
}

// checkTrainGraph: one op of the collection runs all updates, each after the reads that must see the old
// value. The model can be served, though the session does not support some ops of this graph.
func checkTrainGraph(t *testing.T, m *savedmodel.Model) {
	t.Helper()
	g, err := m.MetaGraph(savedmodel.TagTrain)
	if err != nil {
		t.Fatal(err)
	}
	names := g.Proto.GetCollectionDef()[savedmodel.CollectionTrainOp].GetNodeList().GetValue()
	if len(names) != 1 || g.Graph.Node(names[0]) == nil {
		t.Fatalf("train op %q: expected a node", names)
	}
	updates := map[string]int{}
	for _, n := range g.Graph.Node(names[0]).Control {
		updates[n.Op]++
		for _, r := range g.Graph.Nodes() {
			if r.Op == "ReadVariableOp" && r.Inputs[0] == n.Inputs[0] && r.Name != "save/Read" && !slices.Contains(n.Control, r) && graph.Reachable(g.Graph.Node(names[0]))[r] {
				t.Errorf("%s (%s) does not follow %s", n.Name, n.Op, r.Name)
			}
		}
	}
	if updates["ResourceApplyGradientDescent"] != 2 || updates["AssignAddVariableOp"] != 1 {
		t.Errorf("the train op runs %v: expected the update of two variables, and of global_step", updates)
	}
	s, err := session.Open(context.Background(), m.Dir, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestExportModesWithoutGraph: a step function is refused by name, a metric of another package is left out.
func TestExportModesWithoutGraph(t *testing.T) {
	in := columnsOf(inputs.Slice("x", inputs.Feature, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 2), inputs.Slice("y", inputs.Label, []float32{1, 2, 3, 4}))
	ctx := context.Background()
	fn := estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		y := layers.Dense(mc, f.Dense("x"), 1, layers.Weights{})
		spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
		if mc.Mode() == models.Predict {
			return spec, nil
		}
		spec.Loss = ops.Mean(mc, y)
		own := func() (metrics.Accumulator, error) { return foreignMetric{metrics.NewMean()}, nil }
		spec.EvalMetrics = estimator.Metrics{"own": {New: own, Args: []*G.Node{y}}, "mae": estimator.NewMetric("mae", l.Only(), y)}
		if mc.Mode() == models.Train {
			spec.TrainOp = optimizers.SGD(0.1).Minimize(mc, spec.Loss)
		}
		return spec, mc.Err()
	})
	e := custom(t, fn, t.TempDir())
	if _, err := e.Train(ctx, in, estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	columns, err := e.ServingColumns(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	columns = append(columns, inputs.Column{Name: "y", DType: tensor.Float32, Role: inputs.Label})
	columns = slices.CompactFunc(columns, func(a, b inputs.Column) bool { return a.Name == b.Name })
	dir, err := e.ExportSavedModel(ctx, t.TempDir(), estimator.RawServingInput(columns...), estimator.ExportModes(models.Eval))
	if err != nil {
		t.Fatal(err)
	}
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.MetaGraph(savedmodel.TagEval)
	if err != nil {
		t.Fatal(err)
	}
	if out := g.Signatures["eval"].GetOutputs(); out["metrics/mae/value"] == nil || out["metrics/own/value"] != nil {
		t.Errorf("the signature of evaluation has %v: expected mae alone of the metrics", out)
	}
	fn2, err := canned.KMeans{Centers: [][]float32{{0, 0}, {5, 5}}, Columns: []feature.Column{&feature.Numeric{Key: "x", Shape: []int{2}}}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	k := custom(t, fn2, t.TempDir())
	if _, err := k.Train(ctx, in, estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.ExportSavedModel(ctx, t.TempDir(), estimator.RawServingInput(columns...), estimator.ExportModes(models.Train)); !errors.Is(err, optimizers.ErrStepFunction) {
		t.Errorf("a step function: %v: expected it to be named", err)
	}
}

// foreignMetric is an accumulator of another package.
type foreignMetric struct{ metrics.Accumulator }
