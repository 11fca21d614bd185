package canned_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// TestRNNExportModes: labels and weights of steps are fed to the exported evaluation graph, padded to the
// exported length, and its metrics agree with Evaluate.
func TestRNNExportModes(t *testing.T) {
	q := sequences{"label", map[string]any{"x": [][]float32{{1}, {2, 3, 4}}, "label": [][]float32{{2}, {4, 6, 8}}, "weight": [][]float32{{1}, {1, 2, 0}}}}
	head := heads.Sequential(heads.Regression(1, heads.WithWeightColumn("weight")), "")
	e := ok(canned.RNNEstimator{Head: head, SequenceColumns: []feature.Column{&feature.SequenceNumeric{Key: "x"}}, WeightColumn: "weight",
		Units: []int{2}, ReturnSequences: true}.New(scratch(t)...))
	defer e.Close()
	ok(e.Train(t.Context(), q.inputFn(2), estimator.Steps(1)))
	want := ok(e.Evaluate(t.Context(), q.inputFn(2)))
	serving := estimator.RawServingInput(ok(e.ServingColumns(t.Context(), q.inputFn(2), models.Eval))...)
	dir := ok(e.ExportSavedModel(t.Context(), t.TempDir(), serving, estimator.ExportSequenceLength(4), estimator.ExportModes(models.Eval, models.Train)))
	s := ok(session.Open(t.Context(), dir, session.Options{Tags: []string{savedmodel.TagEval}}))
	defer s.Close()
	sig := s.Signatures()["eval"]
	feeds, none := map[string]*tensor.Tensor{}, float32(math.NaN())
	for key, x := range map[string]*tensor.Tensor{
		"x":      ok(tensor.FromSlice([]float32{1, none, none, 2, 3, 4}, 2, 3)),
		"label":  ok(tensor.FromSlice([]float32{2, 0, 0, 0, 4, 6, 8, 0}, 2, 4, 1)),
		"weight": ok(tensor.FromSlice([]float32{1, 0, 0, 0, 1, 2, 0, 0}, 2, 4)),
	} {
		feeds[sig.GetInputs()[key].GetName()] = x
	}
	for name, output := range map[string]string{"loss": "loss", "average_loss": "metrics/average_loss/update_op", "label/mean": "metrics/label/mean/update_op"} {
		got, err := s.Run(t.Context(), feeds, []string{sig.GetOutputs()[output].GetName()})
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := want.Scalar(name); math.Abs(got[0].Float(0)-w) > 1e-5*math.Abs(w) {
			t.Errorf("%s is %v, expected %v", name, got[0].Float(0), w)
		}
	}
}
