package canned_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	G "gorgonia.org/gorgonia"
)

// projected is a cell with two states of different widths, whose output is neither of
// them: for the input x, m' = tanh(xW + hU), h' = m'P, and the output is m'*2.
type projected struct{ wide, narrow int }

func (projected) Name() string { return "projected_cell" }

func (p projected) Check() error {
	if p.narrow > p.wide {
		return errors.New("narrow: expected at most wide")
	}
	return nil
}

func (p projected) Begin(c models.Context, x *G.Node) *layers.Steps {
	b := c.Core()
	kernel := b.Variable("kernel", []int{x.Shape()[2], p.wide})
	back := b.Variable("recurrent_kernel", []int{p.narrow, p.wide})
	down := b.Variable("projection", []int{p.wide, p.narrow})
	return &layers.Steps{States: []int{p.wide, p.narrow}, Step: func(x *G.Node, states []*G.Node) (*G.Node, []*G.Node) {
		m := ops.Tanh(c, ops.Add(c, ops.MatMul(c, x, kernel), ops.MatMul(c, states[1], back)))
		return ops.Add(c, m, m), []*G.Node{m, ops.MatMul(c, m, down)}
	}}
}

// Cells of the user's own and of different kinds train under strategies, resume, have
// tf.estimator's names and are exported.
func TestRNNOfCells(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model: too long under the race detector")
	}
	cells := []layers.Cell{layers.LSTM.Of(5), projected{6, 3}, layers.LSTM.Of(4), layers.GRU.Of(3)}
	data := bits(256, 9)
	for _, s := range []runconfig.Strategy{{Name: "default"}, {Name: "mirrored", Replicas: 2}} {
		t.Run(s.Name, func(t *testing.T) {
			dir := t.TempDir()
			for _, to := range []int64{10, 150} { // the second continues from a checkpoint
				e := ok(canned.RNNClassifier{SequenceColumns: []feature.Column{bitsColumn()}, Cells: cells,
					Optimizer: ok(optimizers.New("adam", map[string]any{"learning_rate": 0.02}))}.New(estimator.WithLogger(slog.New(slog.DiscardHandler)),
					estimator.WithRunConfig(ok(runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(s))))))
				defer e.Close()
				ok(e.Train(t.Context(), data.inputFn(32), estimator.MaxSteps(to)))
				if to < 150 {
					continue
				}
				r := ok(e.Evaluate(t.Context(), data.inputFn(32)))
				if a, _ := r.Scalar("accuracy"); !(a > 0.95) {
					t.Errorf("accuracy %v: expected more than 0.95", a)
				}
				serving := estimator.RawServingInput(ok(e.ServingColumns(t.Context(), data.inputFn(32)))...)
				if _, err := e.ExportSavedModel(t.Context(), t.TempDir(), serving, estimator.ExportSequenceLength(9)); err != nil {
					t.Error(err)
				}
				names := ok(e.VariableNames())
				for _, want := range []string{"lstm_cell/kernel", "lstm_cell_1/recurrent_kernel", "projected_cell/projection", "gru_cell/bias"} {
					if want = "rnn_model/rnn/stacked_rnn_cells/" + want; !slices.Contains(names, want) {
						t.Errorf("no variable %s among %v", want, names)
					}
				}
			}
		})
	}
}

func TestRNNCellsThatAreWrong(t *testing.T) {
	good := canned.RNNClassifier{SequenceColumns: []feature.Column{bitsColumn()}, Cells: []layers.Cell{projected{3, 2}}}
	for want, change := range map[string]func(o *canned.RNNClassifier){
		"units and cell_type: expected none beside cells": func(o *canned.RNNClassifier) { o.Units = []int{3} },
		"cells[1]: expected a cell with a name":           func(o *canned.RNNClassifier) { o.Cells = []layers.Cell{projected{3, 2}, nil} },
		"cells[0], projected_cell: narrow":                func(o *canned.RNNClassifier) { o.Cells = []layers.Cell{projected{2, 3}} },
		"cells[0], elman_cell: cell type":                 func(o *canned.RNNClassifier) { o.Cells = []layers.Cell{layers.CellType("elman").Of(2)} },
	} {
		o := good
		change(&o)
		if _, err := o.ModelFn(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
	set := ok(feature.Build([]feature.Spec{{Type: "identity", Key: "bits", Buckets: 2, Sequence: true}, {Name: "v", Type: "embedding", Of: "bits", Dimension: 2}}))
	for want, p := range map[string]estimator.Params{
		"":                               {"units": []any{4, 3}, "cell_type": []any{"lstm", "gru"}},
		"cell_type: 1 types for 2 units": {"units": []any{4, 3}, "cell_type": []any{"lstm"}},
		"cells[1], elman_cell":           {"units": []any{4, 3}, "cell_type": []any{"lstm", "elman"}},
		"units is 0":                     {"units": []any{4, 0}, "cell_type": []any{"lstm", "gru"}},
	} {
		p["sequence_feature_columns"] = []any{"v"}
		if _, err := canned.Named("rnn_classifier", p, set); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: expected an error with %q, got %v", p, want, err)
		}
	}
}

// minimal is the minimal gated unit of Zhou et al. 2016: with the input x and the previous
// output h, f = s(x*Wf + h*Uf), h' = (1-f)*h + f*tanh(x*W + (f*h)*U).
type minimal struct{ units int }

func (minimal) Name() string { return "minimal_cell" }
func (minimal) Check() error { return nil }
func (m minimal) Begin(c models.Context, x *G.Node) *layers.Steps {
	in, b := x.Shape()[2], c.Core()
	wf, uf := b.Variable("forget_kernel", []int{in, m.units}), b.Variable("forget_recurrent_kernel", []int{m.units, m.units})
	w, u := b.Variable("kernel", []int{in, m.units}), b.Variable("recurrent_kernel", []int{m.units, m.units})
	return &layers.Steps{States: []int{m.units}, Step: func(x *G.Node, states []*G.Node) (*G.Node, []*G.Node) {
		h := states[0]
		f := ops.Sigmoid(c, ops.Add(c, ops.MatMul(c, x, wf), ops.MatMul(c, h, uf)))
		fresh := ops.Tanh(c, ops.Add(c, ops.MatMul(c, x, w), ops.MatMul(c, ops.Mul(c, f, h), u)))
		h = ops.Add(c, h, ops.Mul(c, f, ops.Sub(c, fresh, h)))
		return h, []*G.Node{h}
	}}
}

// A recurrent model with a custom cell (tf.estimator's rnn_cell_fn) learns the first of three bits.
func ExampleRNNClassifier() {
	dir, err := os.MkdirTemp("", "canned-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	data := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil,
			inputs.Slice("bits", inputs.Feature, []int64{0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0}, 3),
			inputs.Slice("first", inputs.Label, []int64{0, 1, 0, 1}))
		if err != nil || ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(4, false)), err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(4, false)), nil
	})
	bits := &feature.Indicator{Of: &feature.Sequence{Of: &feature.Identity{Key: "bits", Size: 2}}}
	adam, err := optimizers.New("adam", map[string]any{"learning_rate": 0.05})
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	est, err := canned.RNNClassifier{SequenceColumns: []feature.Column{bits}, Cells: []layers.Cell{minimal{8}}, Optimizer: adam}.New(
		estimator.WithRunConfig(config), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer est.Close()
	if _, err := est.Train(context.Background(), data, estimator.Steps(200)); err != nil {
		fmt.Println(err)
		return
	}
	result, err := est.Evaluate(context.Background(), data)
	if err != nil {
		fmt.Println(err)
		return
	}
	accuracy, _ := result.Scalar("accuracy")
	kernel, err := est.VariableValue("rnn_model/rnn/minimal_cell/kernel")
	fmt.Printf("accuracy %.2f, a kernel %v, %v\n", accuracy, kernel.Shape, err)
	// Output: accuracy 1.00, a kernel [2 8], <nil>
}
