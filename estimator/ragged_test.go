package estimator_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// raggedData has examples of different numbers of ids, weights and steps.
type raggedData struct {
	ids     [][]int64
	weights [][]float32 // one for each id
	steps   [][]float32
	y       []float32
	batch   int
}

func (d *raggedData) Input(context.Context, inputs.Context) (inputs.Dataset, error) {
	schema, err := inputs.NewSchema(
		inputs.Column{Name: "ids", DType: tensor.Int64, Ragged: true}, inputs.Column{Name: "weights", DType: tensor.Float32, Ragged: true},
		inputs.Column{Name: "steps", DType: tensor.Float32, Ragged: true}, inputs.Column{Name: "y", DType: tensor.Float32, Shape: []int{1}, Role: inputs.Label})
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema.Arrow())
	for i := range d.y {
		l := b.Field(0).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.Int64Builder).AppendValues(d.ids[i], nil)
		w := b.Field(1).(*array.ListBuilder)
		w.Append(true)
		w.ValueBuilder().(*array.Float32Builder).AppendValues(d.weights[i], nil)
		s := b.Field(2).(*array.ListBuilder)
		s.Append(true)
		s.ValueBuilder().(*array.Float32Builder).AppendValues(d.steps[i], nil)
		y := b.Field(3).(*array.FixedSizeListBuilder)
		y.Append(true)
		y.ValueBuilder().(*array.Float32Builder).Append(d.y[i])
	}
	rec := b.NewRecord()
	ds, err := inputs.Records(schema, []arrow.Record{rec}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Batch(d.batch, false)), nil
}

// newRaggedData draws examples of at most most values, longer ones in the second half.
func newRaggedData(rows, most, batch int) *raggedData {
	d := &raggedData{batch: batch}
	for i := range rows {
		n := (i * 5) % (most/2 + 1)
		if i >= rows/2 {
			n = (i * 5) % (most + 1)
		}
		var ids []int64
		var w, s []float32
		y := float32(0)
		for k := range n {
			id := int64((i*13 + k*k*3) % raggedRows)
			ids, w = append(ids, id), append(w, float32(k%3)/2)
			s = append(s, float32(k)/8, float32(i%5)/4)
			y += float32(id%4) * float32(k%3) / 2
		}
		d.ids, d.weights, d.steps, d.y = append(d.ids, ids), append(d.weights, w), append(d.steps, s), append(d.y, y)
	}
	return d
}

const raggedRows = 23

// raggedModel sums weighted rows of a table, and all numbers of the padded steps.
func raggedModel(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
	table := mc.Variable("table", []int{raggedRows, 1}, models.WithInit(initializers.Zeros()))
	ids := f.Ragged("ids").WithWeights(mc, f.Ragged("weights"))
	y := ops.LookupSparse(mc, table, ids, "sum", 0)
	steps := f.Ragged("steps").Steps(2)
	padded := ops.RaggedToDense(mc, steps, steps.MaxLength())
	spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y, "sum": ops.Sum(mc, padded, ops.Axes(1, 2)), "steps": ops.SequenceLengths(mc, steps)}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = losses.MeanSquaredError(mc, l.Only(), y, losses.Options{})
	if mc.Mode() == models.Train {
		o := optimizers.Adagrad(0.5)
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

func TestRaggedColumnsGrow(t *testing.T) {
	ctx := context.Background()
	data := newRaggedData(64, 12, 8)
	e := custom(t, estimator.ModelFunc(raggedModel), t.TempDir(), estimator.WithAutoSummaries(estimator.AutoSummaries{Histograms: true}))
	if _, err := e.Train(ctx, forever(data), estimator.MaxSteps(500)); err != nil {
		t.Fatal(err)
	}
	table, err := e.VariableValue("table")
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for p, err := range e.Predict(ctx, data) {
		if err != nil {
			t.Fatal(err)
		}
		y, sum := 0.0, 0.0
		for k, id := range data.ids[i] {
			y += float64(data.weights[i][k]) * table.Float(int(id))
		}
		if got := p.Get("y").Float(0); math.Abs(got-y) > 1e-5*math.Max(1, y) || math.Abs(y-float64(data.y[i])) > 1 {
			t.Errorf("example %d: y is %v, expected %v, trained for %v", i, got, y, data.y[i])
		}
		for _, s := range data.steps[i] {
			sum += float64(s)
		}
		if got := p.Get("sum").Float(0); math.Abs(got-sum) > 1e-4 {
			t.Errorf("example %d: the sum of its steps is %v, expected %v", i, got, sum)
		}
		if got := p.Get("steps").Float(0); int(got) != len(data.steps[i])/2 {
			t.Errorf("example %d: %v steps, expected %d", i, got, len(data.steps[i])/2)
		}
		i++
	}
	if i != len(data.y) {
		t.Errorf("%d predictions, expected %d", i, len(data.y))
	}
}

func TestRaggedColumnsThatDoNotFitTheModel(t *testing.T) {
	ctx := context.Background()
	for want, spoil := range map[string]func(d *raggedData){
		`row 4: column "ids": id 23: expected an id below 23`:                             func(d *raggedData) { d.ids[3][0] = 23 },
		`row 6: column "weights": expected as many values as in column "ids"`:             func(d *raggedData) { d.weights[5] = append(d.weights[5], 1) },
		`row 3: column "steps": 3 values: expected a multiple of 2, the values of a step`: func(d *raggedData) { d.steps[2] = []float32{1, 2, 3} },
	} {
		data := newRaggedData(64, 12, 8)
		spoil(data)
		e := custom(t, estimator.ModelFunc(raggedModel), t.TempDir())
		_, err := e.Train(ctx, data, estimator.MaxSteps(10))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %s, got %v", want, err)
		}
		var id *estimator.IDError
		if strings.Contains(want, "id 23") && (!errors.As(err, &id) || id.ID != 23 || id.Limit != 23) {
			t.Errorf("got %+v", id)
		}
	}
}

// unrolledModel adds the steps of an example one after the other, so that the number of
// nodes depends on the longest example.
func unrolledModel(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
	steps := f.Ragged("steps").Steps(2)
	n := steps.MaxLength()
	padded := ops.RaggedToDense(mc, steps, n)
	w := mc.Variable("w", []int{2, 1}, models.WithInit(initializers.Constant{Value: 0.5}))
	y := ops.MatMul(mc, ops.Reshape(mc, ops.Slice(mc, padded, []int{0, 0, 0}, []int{-1, 1, -1}), -1, 2), w)
	for t := 1; t < n; t++ {
		y = ops.Add(mc, y, ops.MatMul(mc, ops.Reshape(mc, ops.Slice(mc, padded, []int{0, t, 0}, []int{-1, 1, -1}), -1, 2), w))
	}
	spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = losses.MeanSquaredError(mc, l.Only(), y, losses.Options{})
	spec.EvalMetrics = estimator.Metrics{"rmse": estimator.NewMetric("rmse", l.Only(), y)}
	if mc.Mode() == models.Train {
		mc.Summarize(models.ScalarSummary, "mean_y", ops.Mean(mc, y))
		o := optimizers.SGD(0.001)
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// TestProgramsThatDependOnTheLength: fetched names stay the same when a longer example makes another graph,
// and training resumes from a checkpoint with longer examples than before.
func TestProgramsThatDependOnTheLength(t *testing.T) {
	ctx := context.Background()
	data := newRaggedData(64, 12, 8)
	dir := t.TempDir()
	e := custom(t, estimator.ModelFunc(unrolledModel), dir)
	rmse := func(w0, w1 float64) float64 {
		sum := 0.0
		for i, y := range data.y {
			d := float64(y)
			for k, x := range data.steps[i] {
				d -= float64(x) * []float64{w0, w1}[k%2]
			}
			sum += d * d
		}
		return math.Sqrt(sum / float64(len(data.y)))
	}
	for range 2 { // the second time, the graph is long from the start
		res, err := e.Evaluate(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := res.Scalar("rmse"); math.Abs(got-rmse(0.5, 0.5)) > 1e-4 {
			t.Errorf("rmse %v, expected %v", got, rmse(0.5, 0.5))
		}
	}
	short := newRaggedData(64, 2, 8)
	for _, in := range []*raggedData{short, data} {
		if _, err := custom(t, estimator.ModelFunc(unrolledModel), dir).Train(ctx, forever(in), estimator.Steps(50)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := e.VariableValue("w")
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Evaluate(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := res.Scalar("rmse"); res.GlobalStep != 100 || math.Abs(got-rmse(w.Float(0), w.Float(1))) > 1e-4 || got >= rmse(0.5, 0.5) {
		t.Errorf("step %d: rmse %v, expected %v, less than %v", res.GlobalStep, got, rmse(w.Float(0), w.Float(1)), rmse(0.5, 0.5))
	}
}

// lateModel adds to the first step of an example step number later times a
// variable. Programs for shorter examples do not have the variable.
func lateModel(later int) estimator.ModelFunc {
	return func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		steps := f.Ragged("steps")
		n := steps.MaxLength()
		padded := ops.RaggedToDense(mc, steps, n)
		column := func(t int) *G.Node { return ops.Slice(mc, padded, []int{0, t}, []int{-1, 1}) }
		first, late := mc.Variable("first", []int{1, 1}), mc.Variable("late", []int{1, 1}, models.WithInit(initializers.Zeros()))
		y := ops.MatMul(mc, column(0), first)
		if n > later {
			y = ops.Add(mc, y, ops.MatMul(mc, column(later), late))
		}
		spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
		if mc.Mode() == models.Predict {
			return spec, nil
		}
		spec.Loss = losses.MeanSquaredError(mc, l.Only(), y, losses.Options{})
		if mc.Mode() == models.Train {
			o := optimizers.Adagrad(0.1)
			spec.TrainOp = o.Minimize(mc, spec.Loss)
		}
		return spec, nil
	}
}

// TestVariablesOfLongerExamples: a variable that the first batches do not reach is
// trained by later batches, also after a restart.
func TestVariablesOfLongerExamples(t *testing.T) {
	data := &raggedData{batch: 2, y: []float32{1, 2, 3, 4}, ids: make([][]int64, 4), weights: make([][]float32, 4),
		steps: [][]float32{{1}, {1}, {1, 2}, {2, 1, 3}}}
	dir := t.TempDir()
	late := 0.0
	for range 2 {
		e := custom(t, lateModel(1), dir)
		if _, err := e.Train(context.Background(), forever(data), estimator.Steps(4)); err != nil {
			t.Fatal(err)
		}
		v, err := e.VariableValue("late")
		if err != nil {
			t.Fatal(err)
		}
		if v.Float(0) == late {
			t.Errorf("the variable is %v still: it was not trained", late)
		}
		late = v.Float(0)
		slot, err := e.VariableValue("late/Adagrad")
		if err != nil || !(slot.Float(0) > 0.1) {
			t.Errorf("its slot is %v, %v", slot, err)
		}
	}
	_, err := custom(t, lateModel(2), t.TempDir()).Train(context.Background(), forever(data), estimator.Steps(4))
	if err == nil || !strings.Contains(err.Error(), "variable late reaches the loss only where an example of a ragged column is longer than 2") {
		t.Errorf("got error %v", err)
	}
}

func TestVariablesMustNotDependOnTheLength(t *testing.T) {
	fn := estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		r := f.Ragged("steps")
		w := mc.Variable("positions", []int{r.MaxLength(), 1})
		y := ops.MatMul(mc, ops.RaggedToDense(mc, r, r.MaxLength()), w)
		return &estimator.Spec{Loss: losses.MeanSquaredError(mc, l.Only(), y, losses.Options{}), Predictions: estimator.Nodes{"y": y}}, nil
	})
	_, err := custom(t, fn, t.TempDir()).Evaluate(context.Background(), newRaggedData(64, 12, 8))
	if err == nil || !strings.Contains(err.Error(), "variable positions depends on the length of a ragged column") {
		t.Errorf("got %v", err)
	}
}
