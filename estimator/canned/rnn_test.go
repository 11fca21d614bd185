package canned_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// sequences are columns of examples: []int64 labels, [][]int64 and [][]float32 sequences.
type sequences struct {
	label string
	cols  map[string]any
}

// inputFn is an input_fn of the columns, endless in training.
func (q sequences) inputFn(batch int) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		var columns []inputs.Column
		names := slices.Sorted(maps.Keys(q.cols))
		if ic.Mode == inputs.Predict {
			names = slices.DeleteFunc(names, func(n string) bool { return n == q.label })
		}
		for _, name := range names {
			c := inputs.Column{Name: name, DType: tensor.Int64, Role: inputs.Feature}
			if name == q.label {
				c.Role = inputs.Label
			}
			switch q.cols[name].(type) {
			case [][]int64:
				c.Ragged = true
			case [][]float32:
				c.Ragged, c.DType = true, tensor.Float32
			case []float32:
				c.DType = tensor.Float32
			}
			columns = append(columns, c)
		}
		s, err := inputs.NewSchema(columns...)
		if err != nil {
			return nil, err
		}
		b := array.NewRecordBuilder(memory.NewGoAllocator(), s.Arrow())
		for i, name := range names {
			appendColumn(b.Field(i), q.cols[name])
		}
		ds, err := inputs.Records(s, []arrow.Record{b.NewRecord()}, memory.NewGoAllocator())
		if err != nil || ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(batch, false)), err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(batch, false)), nil
	})
}

func appendColumn(b array.Builder, column any) {
	list, _ := b.(*array.ListBuilder)
	switch c := column.(type) {
	case []int64:
		b.(*array.Int64Builder).AppendValues(c, nil)
	case []float32:
		b.(*array.Float32Builder).AppendValues(c, nil)
	case [][]int64:
		for _, x := range c {
			list.Append(true)
			list.ValueBuilder().(*array.Int64Builder).AppendValues(x, nil)
		}
	case [][]float32:
		for _, x := range c {
			list.Append(true)
			list.ValueBuilder().(*array.Float32Builder).AppendValues(x, nil)
		}
	}
}

// bits are sequences of zeros and ones of up to longest steps; the label is the last one.
func bits(n, longest int) sequences {
	r := rand.New(rand.NewPCG(1, 2))
	seqs, labels := make([][]int64, n), make([]int64, n)
	for i := range seqs {
		for range 1 + r.IntN(longest) {
			seqs[i] = append(seqs[i], int64(r.IntN(2)))
		}
		labels[i] = seqs[i][len(seqs[i])-1]
	}
	return sequences{"label", map[string]any{"bits": seqs, "label": labels}}
}

func bitsColumn() feature.Column {
	return &feature.Embedding{Of: &feature.Sequence{Of: &feature.Identity{Key: "bits", Size: 2}}, Dimension: 3}
}

func TestRNNLearnsTheLastToken(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model: too long under the race detector")
	}
	rc := func(s runconfig.Strategy) estimator.Option {
		return estimator.WithRunConfig(ok(runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(s))))
	}
	for name, c := range map[string]struct {
		cell     layers.CellType
		units    []int
		strategy runconfig.Strategy
	}{
		"simple":          {layers.SimpleRNN, []int{8}, runconfig.Strategy{Name: "default"}},
		"lstm":            {layers.LSTM, []int{8}, runconfig.Strategy{Name: "mirrored", Replicas: 2}},
		"gru of 2 layers": {layers.GRU, []int{8, 4}, runconfig.Strategy{Name: "central_storage", Replicas: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			e := ok(canned.RNNClassifier{SequenceColumns: []feature.Column{bitsColumn()}, Units: c.units, CellType: c.cell}.New(rc(c.strategy), estimator.WithLogger(slog.New(slog.DiscardHandler))))
			defer e.Close()
			data := bits(256, 9)
			// Longer sequences than the program was built for come later.
			ok(e.Evaluate(t.Context(), bits(64, 2).inputFn(32)))
			ok(e.Train(t.Context(), data.inputFn(32), estimator.Steps(400)))
			r := ok(e.Evaluate(t.Context(), data.inputFn(32)))
			if a, _ := r.Scalar("accuracy"); !(a > 0.95) {
				t.Errorf("accuracy %v: expected more than 0.95", a)
			}
		})
	}
}

// parities are the label of each step: whether the number of ones so far is odd.
func parities(n, longest int) sequences {
	q := bits(n, longest)
	var labels [][]int64
	for _, s := range q.cols["bits"].([][]int64) {
		sum, each := int64(0), []int64{}
		for _, b := range s {
			sum ^= b
			each = append(each, sum)
		}
		labels = append(labels, each)
	}
	q.cols["label"] = labels
	return q
}

func TestRNNLearnsParityAtEachStep(t *testing.T) {
	testkit.NotConcurrent(t)
	e := ok(canned.RNNClassifier{SequenceColumns: []feature.Column{bitsColumn()}, Units: []int{16}, CellType: layers.GRU, ReturnSequences: true,
		Optimizer: ok(optimizers.New("adam", map[string]any{"learning_rate": 0.02}))}.New(scratch(t)...))
	defer e.Close()
	data := parities(128, 6)
	ok(e.Train(t.Context(), data.inputFn(32), estimator.Steps(400)))
	r := ok(e.Evaluate(t.Context(), data.inputFn(32)))
	if a, _ := r.Scalar("accuracy"); !(a > 0.95) {
		t.Errorf("accuracy %v: expected more than 0.95", a)
	}
	row := 0
	for p, err := range e.Predict(t.Context(), data.inputFn(32)) {
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		for _, there := range tensor.Values[bool](p.Get("sequence_mask")) {
			if there {
				steps++
			}
		}
		if want := len(data.cols["bits"].([][]int64)[row]); steps != want || p.Get("classes").Shape[0] < want {
			t.Fatalf("row %d: %d steps in the mask, classes%v: expected %d", row, steps, p.Get("classes").Shape, want)
		}
		row++
	}
}

// TestRNNBLEU: an evaluation's BLEU is that of the predicted sentences, each with its own length.
func TestRNNBLEU(t *testing.T) {
	set := ok(feature.Build([]feature.Spec{{Name: "bits", Type: "identity", Key: "bits", Buckets: 2, Sequence: true}, {Name: "bits_vector", Type: "embedding", Of: "bits", Dimension: 2}}))
	params := estimator.Params{"sequence_feature_columns": "bits_vector", "units": 4, "return_sequences": true,
		"metrics": []any{"bleu", map[string]any{"name": "bleu", "as": "pairs", "max_order": 2, "smoothing": "none"}}}
	e := ok(estimator.New(ok(canned.Named("rnn_classifier", params, set)), scratch(t)...))
	defer e.Close()
	data := parities(40, 7)
	ok(e.Train(t.Context(), data.inputFn(20), estimator.Steps(1)))
	r := ok(e.Evaluate(t.Context(), data.inputFn(16)))
	four, two := ok(metrics.NewBLEU(metrics.BLEUOptions{})), ok(metrics.NewBLEU(metrics.BLEUOptions{MaxOrder: 2, Smoothing: metrics.SmoothNone}))
	row, labels := 0, data.cols["label"].([][]int64)
	for p, err := range e.Predict(t.Context(), data.inputFn(16)) {
		if err != nil {
			t.Fatal(err)
		}
		n := len(labels[row])
		want, got := tensor.New(tensor.Int64, 1, n), tensor.New(tensor.Int64, 1, n)
		copy(tensor.Values[int64](want), labels[row])
		for i := range n {
			tensor.Values[int64](got)[i] = int64(p.Get("class_ids").Float(i))
		}
		if err := errors.Join(four.Update(want, got), two.Update(want, got)); err != nil {
			t.Fatal(err)
		}
		row++
	}
	for name, m := range map[string]*metrics.BLEU{"bleu": four, "pairs": two} {
		if got, has := r.Scalar(name); !has || math.Abs(got-m.Result().Data[0]) > 1e-12 || !(got > 0 && got < 1) {
			t.Errorf("%s is %v, expected %v, between 0 and 1", name, got, m.Result().Data)
		}
	}
	params["return_sequences"] = false
	e = ok(estimator.New(ok(canned.Named("rnn_classifier", params, set)), scratch(t)...))
	defer e.Close()
	if _, err := e.Train(t.Context(), bits(8, 3).inputFn(4), estimator.Steps(1)); err == nil || !contains(err, "bleu is of the steps of sequences") {
		t.Errorf("got %v, expected that bleu needs steps", err)
	}
}

// The loss and the metrics of sequences count the present steps, each once.
func TestRNNCountsSteps(t *testing.T) {
	q := sequences{"label", map[string]any{"x": [][]float32{{1}, {2, 3, 4}, {}}, "label": [][]float32{{2}, {4, 6, 8}, {}},
		"weight": [][]float32{{1}, {1, 2, 0}, {}}}}
	head := heads.Sequential(heads.Regression(1, heads.WithWeightColumn("weight")), "")
	e := ok(canned.RNNEstimator{Head: head, SequenceColumns: []feature.Column{&feature.SequenceNumeric{Key: "x"}}, WeightColumn: "weight",
		Units: []int{2}, ReturnSequences: true}.New(scratch(t)...))
	defer e.Close()
	r := ok(e.Evaluate(t.Context(), q.inputFn(3)))
	for name, want := range map[string]float64{"label/mean": (2 + 4 + 2*6) / 4.0} {
		if got, _ := r.Scalar(name); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, expected %v", name, got, want)
		}
	}
	// The loss is over the 4 steps, the average loss over the weights, 4 too.
	loss, _ := r.Scalar("loss")
	average, _ := r.Scalar("average_loss")
	if math.Abs(loss-average) > 1e-6*average || average == 0 {
		t.Errorf("loss %v, average loss %v: expected the same", loss, average)
	}
	q.cols["weight"] = [][]float32{{1}, {1, -2, 0}, {}}
	if _, err := e.Evaluate(t.Context(), q.inputFn(3)); err == nil || !contains(err, `row 2: column "weight": step 1: weight -2`) {
		t.Errorf("a negative weight of a step: got error %v", err)
	}
}

func TestRNNData(t *testing.T) {
	x, tok := &feature.SequenceNumeric{Key: "x", Shape: []int{2}}, &feature.Indicator{Of: &feature.Sequence{Of: &feature.Identity{Key: "tok", Size: 3}}}
	plain := canned.RNNClassifier{SequenceColumns: []feature.Column{x, tok}, Units: []int{2}}
	each := plain
	each.ReturnSequences = true
	context := plain
	context.ContextColumns = []feature.Column{&feature.Numeric{Key: "age"}}
	good := map[string]any{"x": [][]float32{{1, 2}, {}}, "tok": [][]int64{{0}, {}}, "label": []int64{0, 1}}
	with := func(changes map[string]any) map[string]any {
		m := maps.Clone(good)
		maps.Copy(m, changes)
		return m
	}
	for name, c := range map[string]struct {
		model canned.RNNClassifier
		cols  map[string]any
		want  string // of the error; "": none
	}{
		"good":               {plain, good, ""},
		"context":            {context, with(map[string]any{"age": []float32{20, 30}}), ""},
		"other lengths":      {plain, with(map[string]any{"tok": [][]int64{{0}, {1}}}), `row 2: column "x"`},
		"too few numbers":    {plain, with(map[string]any{"tok": [][]int64{{0, 1}, {}}}), `2 values for 2 steps of column "tok_indicator"`},
		"unknown id":         {plain, with(map[string]any{"tok": [][]int64{{7}, {}}}), `column "tok"`},
		"no such column":     {context, good, `"age"`},
		"dense label":        {each, good, "expected a ragged label"},
		"labels":             {each, with(map[string]any{"label": [][]int64{{0}, {1}}}), `row 2: column "label"`},
		"label out of range": {each, with(map[string]any{"label": [][]int64{{3}, {}}}), "labels must be <= n_classes - 1 (1)"},
	} {
		t.Run(name, func(t *testing.T) {
			e := ok(c.model.New(scratch(t)...))
			defer e.Close()
			_, err := e.Train(t.Context(), sequences{"label", c.cols}.inputFn(2), estimator.Steps(1))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("expected an error with %q, got %v", c.want, err)
			}
		})
	}
}

func TestRNNOptionsThatAreWrong(t *testing.T) {
	good := canned.RNNClassifier{SequenceColumns: []feature.Column{bitsColumn()}, Units: []int{2}}
	for want, change := range map[string]func(o *canned.RNNClassifier){
		"sequence_feature_columns: expected at least one": func(o *canned.RNNClassifier) { o.SequenceColumns = nil },
		"units: expected the units of at least one":       func(o *canned.RNNClassifier) { o.Units = nil },
		"units[1]: expected >= 1, got 0":                  func(o *canned.RNNClassifier) { o.Units = []int{3, 0} },
		`cell_type: cell type "elman"`:                    func(o *canned.RNNClassifier) { o.CellType = "elman" },
		"sequence columns: column \"age\"":                func(o *canned.RNNClassifier) { o.SequenceColumns = []feature.Column{age()} },
		"dense columns: column \"bits_embedding\"":        func(o *canned.RNNClassifier) { o.ContextColumns = o.SequenceColumns },
	} {
		o := good
		change(&o)
		if _, err := o.ModelFn(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
	if _, err := (canned.RNNEstimator{Head: heads.Regression(1), SequenceColumns: good.SequenceColumns, Units: good.Units, ReturnSequences: true}).ModelFn(); err == nil {
		t.Error("a static head for sequences: expected an error")
	}
}

// A config file names recurrent models.
func TestRNNNamed(t *testing.T) {
	set := ok(feature.Build([]feature.Spec{{Type: "identity", Key: "bits", Buckets: 2, Sequence: true}, {Name: "v", Type: "embedding", Of: "bits", Dimension: 2}}))
	p := estimator.Params{"sequence_feature_columns": []any{"v"}, "units": []any{4, 3}, "cell_type": "lstm"}
	e := ok(estimator.New(ok(canned.Named("rnn_classifier", p, set)), scratch(t)...))
	defer e.Close()
	ok(e.Train(t.Context(), bits(8, 3).inputFn(4), estimator.Steps(1)))
	names := ok(e.VariableNames())
	for _, want := range []string{"sequence_features/bits_embedding/embedding_weights", "rnn_model/rnn/stacked_rnn_cells/lstm_cell/kernel",
		"rnn_model/rnn/stacked_rnn_cells/lstm_cell_1/recurrent_kernel", "rnn_model/logits/bias", "training/Adagrad/rnn_model/rnn/stacked_rnn_cells/lstm_cell_1/bias/accumulator"} {
		if !slices.Contains(names, want) {
			t.Errorf("no variable %s among %v", want, names)
		}
	}
	if _, err := canned.Named("rnn_estimator", estimator.Params{"sequence_feature_columns": []any{"v"}, "units": "many", "cell": "lstm"}, set); err == nil ||
		!strings.Contains(err.Error(), "units") || !strings.Contains(err.Error(), "unknown parameter cell") {
		t.Errorf("expected errors of units, cell and the head, got %v", err)
	}
}
