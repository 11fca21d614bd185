package estimator_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

const (
	wideRows  = 1_000_000
	wideIDs   = 40
	wideBatch = 512
)

// wideData has wideIDs ids for each example, in dense and in ragged form.
func wideData(context.Context, inputs.Context) (inputs.Dataset, error) {
	schema, err := inputs.NewSchema(inputs.Column{Name: "dense", DType: tensor.Int64, Shape: []int{wideIDs}},
		inputs.Column{Name: "ragged", DType: tensor.Int64, Ragged: true}, inputs.Column{Name: "y", DType: tensor.Float32, Role: inputs.Label})
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema.Arrow())
	dense, ragged := b.Field(0).(*array.FixedSizeListBuilder), b.Field(1).(*array.ListBuilder)
	for range 8 * wideBatch {
		dense.Append(true)
		ragged.Append(true)
		for range wideIDs {
			id := r.Int64N(wideRows)
			dense.ValueBuilder().(*array.Int64Builder).Append(id)
			ragged.ValueBuilder().(*array.Int64Builder).Append(id)
		}
		b.Field(2).(*array.Float32Builder).Append(float32(r.IntN(2)))
	}
	ds, err := inputs.Records(schema, []arrow.Record{b.NewRecord()}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(wideBatch, true)), nil
}

// stepTimes records the duration of steps.
type stepTimes struct {
	hooks.Base
	start time.Time
	times []time.Duration
}

func (s *stepTimes) BeforeRun(context.Context, hooks.Run) error {
	s.start = time.Now()
	return nil
}

func (s *stepTimes) AfterRun(context.Context, hooks.Run) error {
	s.times = append(s.times, time.Since(s.start))
	return nil
}

// BenchmarkWideLinear is a logistic regression on a table of a million rows, its
// ids dense or ragged; min-us is the shortest step, med-us the median.
func BenchmarkWideLinear(b *testing.B) {
	forms := []struct {
		name string
		look func(mc *estimator.ModelContext, f models.Features, table *G.Node) *G.Node
	}{
		{"dense", func(mc *estimator.ModelContext, f models.Features, table *G.Node) *G.Node {
			return ops.Sum(mc, ops.Gather(mc, table, f.Dense("dense")), ops.Axes(1))
		}},
		{"ragged", func(mc *estimator.ModelContext, f models.Features, table *G.Node) *G.Node {
			return ops.LookupSparse(mc, table, f.Ragged("ragged"), "sum", 0)
		}},
	}
	for _, width := range []int{1, 16} {
		for _, form := range forms {
			b.Run(form.name+map[int]string{1: "-1", 16: "-16"}[width], func(b *testing.B) {
				fn := estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
					table := mc.Variable("table", []int{wideRows, width}, models.WithInit(initializers.Zeros()))
					y := ops.Sum(mc, form.look(mc, f, table), ops.KeepAxes(1))
					spec := &estimator.Spec{Loss: losses.SigmoidCrossEntropy(mc, ops.ExpandDims(mc, l.Only(), -1), y, losses.Options{})}
					o := optimizers.Adagrad(0.1)
					spec.TrainOp = o.Minimize(mc, spec.Loss)
					return spec, nil
				})
				e, err := estimator.New(fn, estimator.WithModelDir(b.TempDir()))
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close()
				times := &stepTimes{}
				if _, err := e.Train(context.Background(), estimator.InputFunc(wideData), estimator.MaxSteps(int64(max(b.N, 20))), estimator.WithHooks(times)); err != nil {
					b.Fatal(err)
				}
				some := times.times[5:]
				slices.Sort(some)
				b.ReportMetric(float64(some[0].Microseconds()), "min-us")
				b.ReportMetric(float64(some[len(some)/2].Microseconds()), "med-us")
			})
		}
	}
}
