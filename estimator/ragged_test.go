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
)

// raggedData has examples of different numbers of ids, weights and steps.
type raggedData struct {
	ids     [][]int64
	weights [][]float32 // as many as ids
	steps   [][]float32
	y       []float32
	batch   int
}

func (d *raggedData) Input(context.Context, inputs.Context) (inputs.Dataset, error) {
	schema, err := inputs.NewSchema(
		inputs.Column{Name: "ids", DType: inputs.Int64, Ragged: true}, inputs.Column{Name: "weights", DType: inputs.Float32, Ragged: true},
		inputs.Column{Name: "steps", DType: inputs.Float32, Ragged: true}, inputs.Column{Name: "y", DType: inputs.Float32, Shape: []int{1}, Role: inputs.Label})
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

// newRaggedData draws examples of up to most values, the last half longer ones.
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

// raggedModel adds up weighted rows of a table and, of the padded steps, all numbers.
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
		o := optimizers.Optimizer{Rule: optimizers.Adagrad{Initial: 0.1}, LearningRate: optimizers.Constant(0.5)}
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

func TestRaggedColumnsGrow(t *testing.T) {
	ctx := context.Background()
	data := newRaggedData(64, 12, 8)
	e := custom(t, estimator.ModelFunc(raggedModel), t.TempDir())
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
		`column "ids", row 3 of its batch: id 23: expected an id below 23`:                             func(d *raggedData) { d.ids[3][0] = 23 },
		`column "weights", row 5 of its batch: expected as many values as in column "ids"`:             func(d *raggedData) { d.weights[5] = append(d.weights[5], 1) },
		`column "steps", row 2 of its batch: 3 values: expected a multiple of 2, the values of a step`: func(d *raggedData) { d.steps[2] = []float32{1, 2, 3} },
	} {
		data := newRaggedData(64, 12, 8)
		spoil(data)
		e := custom(t, estimator.ModelFunc(raggedModel), t.TempDir())
		_, err := e.Train(ctx, data, estimator.MaxSteps(10))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %s, got %v", want, err)
		}
		var id *estimator.IDError
		if strings.Contains(want, "id 23") && (!errors.As(err, &id) || id.Column != "ids" || id.Row != 3 || id.ID != 23) {
			t.Errorf("got %+v", id)
		}
	}
}
