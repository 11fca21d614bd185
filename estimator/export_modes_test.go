package estimator_test

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/savedmodel"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	G "gorgonia.org/gorgonia"
)

// headed is an Estimator of a linear model under a head, trained for a step.
func headed(t *testing.T, h heads.Head, labels inputs.NamedTensor) (*estimator.Estimator, []inputs.Column) {
	t.Helper()
	in := columnsOf(inputs.Slice("x", inputs.Feature, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 2), labels)
	network := func(mc models.Context, f models.Features, n int) *G.Node {
		return layers.Dense(mc, f.Dense("x"), n, layers.Weights{})
	}
	fn := heads.ModelFn(network, h, &optimizers.Optimizer{Rule: optimizers.SGD{}, LearningRate: optimizers.Constant(0.1)})
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
	three, err := heads.NewMultiClass(3, heads.WithLabelVocabulary("a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	many, err := heads.NewMultiLabel(3)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := heads.NewBinaryClass()
	if err != nil {
		t.Fatal(err)
	}
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
