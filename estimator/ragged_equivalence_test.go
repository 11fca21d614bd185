package estimator_test

import (
	"context"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/internal/training/rule"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// raggedEqualData is equalData with ragged ids and weights. Their number grows over time;
// sometimes one worker has many, and some ids are missing.
func raggedEqualData(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	schema, err := inputs.NewSchema(inputs.Column{Name: "ids", DType: tensor.Int64, Ragged: true},
		inputs.Column{Name: "weights", DType: tensor.Float32, Ragged: true}, inputs.Column{Name: "y", DType: tensor.Int32, Role: inputs.Label})
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema.Arrow())
	ids, weights, y := b.Field(0).(*array.ListBuilder), b.Field(1).(*array.ListBuilder), b.Field(2).(*array.Int32Builder)
	share := equalBatch / max(ic.NumPipelines, 1)
	for step := range equalSteps {
		for row := range share {
			n := step*equalBatch + ic.Pipeline*share + row
			h := uint32(n) * 2654435761
			count := int(h>>4) % (2 + step/10)
			if h>>20%50 == 0 {
				count *= 6
			}
			ids.Append(true)
			weights.Append(true)
			sum := 0
			for k := range count {
				id := int64(h>>8+uint32(k*k)) % equalRows
				if k%5 == 3 {
					id = -1
				}
				ids.ValueBuilder().(*array.Int64Builder).Append(id)
				weights.ValueBuilder().(*array.Float32Builder).Append(float32(k%3) / 2)
				sum += int(max(id, 0)) * (k % 3)
			}
			y.Append(int32(sum % 3))
		}
	}
	ds, err := inputs.Records(schema, []arrow.Record{b.NewRecord()}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Batch(equalBatch/max(ic.ReplicasInSync, 1), false)), nil
}

// raggedEqualModel combines rows of two tables, one with a single column, by ragged ids; one table is used twice.
func raggedEqualModel(rule optimizers.Rule, rate float64) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, labels models.Labels) (*estimator.Spec, error) {
		table, linear := mc.Variable("table", []int{equalRows, equalWidth}), mc.Variable("linear", []int{equalRows, 3})
		ids := f.Ragged("ids")
		weighted := ids.WithWeights(mc, f.Ragged("weights"))
		x := ops.Concat(mc, 1, ops.LookupSparse(mc, table, ids, "mean", 0), ops.LookupSparse(mc, table, weighted, "sqrtn", 0.5))
		logits := ops.Add(mc, layers.Dense(mc, x, 3, layers.Weights{}), ops.LookupSparse(mc, linear, weighted, "sum", 0))
		spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})}
		if mc.Mode() == models.Train {
			o := optimizers.Optimizer{Rule: rule, LearningRate: optimizers.Constant(rate)}
			spec.TrainOp = o.Minimize(mc, spec.Loss)
		}
		return spec, nil
	})
}

// TestRaggedEquivalence is TestSynchronousEquivalence with ragged columns.
func TestRaggedEquivalence(t *testing.T) {
	for name, fn := range map[string]estimator.ModelFn{
		"sgd":  raggedEqualModel(rule.SGD{}, 0.1),
		"adam": raggedEqualModel(rule.Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}, 0.01),
	} {
		want := equalRun(t, equalJob{fn: fn, data: raggedEqualData, strategy: runconfig.Strategy{Name: "default"}, workers: 1})
		if want[equalSteps-1] >= want[0] {
			t.Fatalf("%s: the loss went from %v to %v", name, want[0], want[equalSteps-1])
		}
		for _, s := range equalStrategies {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				if name == "sgd" {
					testkit.NotConcurrent(t) // but as adam's
				}
				got := equalRun(t, equalJob{fn: fn, data: raggedEqualData, strategy: s.strategy, workers: s.workers, servers: s.servers})
				worst := 0.0
				for i := range want {
					worst = max(worst, math.Abs(got[i]-want[i])/want[i])
				}
				if worst > 1e-4 {
					t.Errorf("losses differ by up to %.2g relative, expected 1e-4", worst)
				}
				t.Logf("greatest relative difference of losses over %d steps: %.2g", equalSteps, worst)
			})
		}
	}
}

// TestRaggedColumnsAreFetchedAhead: rows of the next batch are prefetched even if the
// program has to be built again for it.
func TestRaggedColumnsAreFetchedAhead(t *testing.T) {
	fn := raggedEqualModel(rule.Adagrad{Initial: 0.1}, 0.1)
	want := equalRun(t, equalJob{fn: fn, data: raggedEqualData, strategy: runconfig.Strategy{Name: "default"}, workers: 1})
	got := equalRun(t, equalJob{fn: fn, data: raggedEqualData, strategy: runconfig.Strategy{Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "fixed_shards"}}, workers: 1, servers: 2})
	for i := range want {
		if math.Abs(got[i]-want[i]) > 0.05*want[i] {
			t.Errorf("step %d: loss %v, expected about %v", i+1, got[i], want[i])
		}
	}
}
