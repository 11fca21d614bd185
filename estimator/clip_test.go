package estimator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	G "gorgonia.org/gorgonia"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// clipGolden is testdata/clip.json: what TensorFlow trains, from its initial
// values, with each clip.
type clipGolden struct {
	Batch, Steps int
	Rate         float64
	Clips        map[optimizers.TransformKind]float64
	Positions    []int32
	Data         struct {
		One, Two  [][]int64
		Weights   [][]float32
		G, H, Seq [][]int64
		X         []float32
	}
	Initial, Factors map[string]fixed
	Trained          map[optimizers.TransformKind][2]map[string]fixed // after the first step and after the last
}

// fixed are the values of a variable.
type fixed []float32

// Init implements models.Initializer.
func (v fixed) Init(t *tensor.Tensor, _ uint64) error {
	copy(tensor.Values[float32](t), v)
	return nil
}

func readClipGolden(t *testing.T) *clipGolden {
	t.Helper()
	text, err := os.ReadFile("testdata/clip.json")
	if err != nil {
		t.Fatal(err)
	}
	g := &clipGolden{}
	if err := json.Unmarshal(text, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// input is the data: a worker's k-th batch is its share of batch k.
func (g *clipGolden) input(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	ids := func(name string, n int) inputs.Column {
		return inputs.Column{Name: name, DType: tensor.Int64, Shape: []int{n}}
	}
	schema, err := inputs.NewSchema(inputs.Column{Name: "one", DType: tensor.Int64, Ragged: true}, inputs.Column{Name: "two", DType: tensor.Int64, Ragged: true},
		inputs.Column{Name: "weights", DType: tensor.Float32, Ragged: true}, ids("g", 3), ids("h", 2), ids("seq", 4), inputs.Column{Name: "x", DType: tensor.Float32, Shape: []int{1}})
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema.Arrow())
	share := g.Batch / max(ic.NumPipelines, 1)
	for step := range g.Steps {
		for i := step*g.Batch + ic.Pipeline*share; i < step*g.Batch+(ic.Pipeline+1)*share; i++ {
			for k, v := range [][]int64{g.Data.One[i], g.Data.Two[i]} {
				list := b.Field(k).(*array.ListBuilder)
				list.Append(true)
				list.ValueBuilder().(*array.Int64Builder).AppendValues(v, nil)
			}
			list := b.Field(2).(*array.ListBuilder)
			list.Append(true)
			list.ValueBuilder().(*array.Float32Builder).AppendValues(g.Data.Weights[i], nil)
			for k, v := range [][]int64{g.Data.G[i], g.Data.H[i], g.Data.Seq[i]} {
				list := b.Field(3 + k).(*array.FixedSizeListBuilder)
				list.Append(true)
				list.ValueBuilder().(*array.Int64Builder).AppendValues(v, nil)
			}
			x := b.Field(6).(*array.FixedSizeListBuilder)
			x.Append(true)
			x.ValueBuilder().(*array.Float32Builder).Append(g.Data.X[i])
		}
	}
	ds, err := inputs.Records(schema, []arrow.Record{b.NewRecord()}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Batch(g.Batch/max(ic.ReplicasInSync, 1), false)), nil
}

// model is the model of testdata/clip.py: a table for each kind of lookup.
func (g *clipGolden) model(clip optimizers.TransformKind) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, _ models.Labels) (*estimator.Spec, error) {
		v := map[string]*G.Node{}
		names := slices.Sorted(maps.Keys(g.Initial))
		for _, name := range names {
			shape := []int{6, 2}
			if name == "dense" {
				shape = []int{2}
			}
			v[name] = mc.Variable(name, shape, models.WithInit(g.Initial[name]))
		}
		one, two, x, gs, hs := f.Ragged("one"), f.Ragged("two"), f.Dense("x"), f.Dense("g"), f.Dense("h")
		weighted := two.WithWeights(mc, f.Ragged("weights"))
		flat := func(y *G.Node) *G.Node {
			return ops.Reshape(mc, y, mc.Batch(), tensor.NumElements(y.Shape())/mc.Batch())
		}
		positions, err := tensor.FromSlice(g.Positions, len(g.Positions))
		if err != nil {
			return nil, err
		}
		steady := ops.Reshape(mc, ops.Gather(mc, v["positions"], ops.Constant(mc, positions)), 1, 8)
		loss := ops.Mul(mc, ops.Sum(mc, ops.Square(mc, v["tied"])), ops.Scalar(mc, tensor.Float32, 0.1))
		outs := map[string]*G.Node{
			"column":    ops.LookupSparse(mc, v["column"], one, "mean", 0),
			"shared":    ops.Concat(mc, 1, ops.LookupSparse(mc, v["shared"], one, "sum", 0), ops.LookupSparse(mc, v["shared"], weighted, "sqrtn", 0)),
			"gather":    flat(ops.Gather(mc, v["gather"], gs)),
			"twice":     ops.Concat(mc, 1, flat(ops.Gather(mc, v["twice"], gs)), flat(ops.Gather(mc, v["twice"], hs))),
			"sequence":  flat(ops.Lookup(mc, v["sequence"], f.Dense("seq"))),
			"mixed":     ops.Concat(mc, 1, ops.LookupSparse(mc, v["mixed"], two, "mean", 0), flat(ops.Gather(mc, v["mixed"], hs))),
			"positions": ops.MatMul(mc, x, steady),
			"tied":      flat(ops.Gather(mc, v["tied"], gs)),
			"dense":     ops.MatMul(mc, x, ops.Reshape(mc, v["dense"], 1, 2)),
		}
		for _, name := range names {
			factor, err := tensor.FromSlice([]float32(g.Factors[name]), len(g.Factors[name]), 1)
			if err != nil {
				return nil, err
			}
			s := ops.MatMul(mc, outs[name], ops.Constant(mc, factor))
			loss = ops.Add(mc, loss, ops.Mean(mc, ops.Add(mc, s, ops.Mul(mc, ops.Square(mc, s), ops.Scalar(mc, tensor.Float32, 0.5)))))
		}
		spec := &estimator.Spec{Loss: loss}
		if mc.Mode() == models.Train {
			o := optimizers.Optimizer{Rule: rule.SGD{}, LearningRate: optimizers.Constant(g.Rate), Transforms: []optimizers.Transform{{Kind: clip, Limit: g.Clips[clip]}}}
			spec.TrainOp = o.Minimize(mc, loss)
		}
		return spec, nil
	})
}

// check trains and compares the variables with TensorFlow's.
func (g *clipGolden) check(t *testing.T, clip optimizers.TransformKind, j equalJob) {
	t.Helper()
	j.fn, j.data = g.model(clip), g.input
	steps, want := g.Steps, g.Trained[clip][1]
	if j.servers > 0 && !j.strategy.Sync { // rows are prefetched before earlier steps end
		steps, want = 1, g.Trained[clip][0]
	}
	e := custom(t, j.fn, j.train(t, int64(steps)))
	for name, want := range want {
		for i, got := range tensor.Values[float32](value(t, e, name)) {
			if d := math.Abs(float64(got - want[i])); !(d <= 2e-5) {
				t.Errorf("%s of %s: element %d is %v, in TensorFlow %v", name, clip, i, got, want[i])
				break
			}
		}
	}
}

// TestClipsAreTensorFlows trains with each clip, alone and under each strategy. A clip
// sees each row of a sparse lookup once, and each index of a gather separately. Replicas,
// workers and servers do not change this.
func TestClipsAreTensorFlows(t *testing.T) {
	g := readClipGolden(t)
	shards := runconfig.Partitioner{Kind: "fixed_shards"}
	strategies := append(slices.Clone(equalStrategies)[:3], []equalStrategy{
		{"alone", runconfig.Strategy{Name: "default"}, 1, 0},
		{"asynchronous", runconfig.Strategy{Name: "parameter_server"}, 1, 1},
		{"asynchronous, cut", runconfig.Strategy{Name: "parameter_server", Partitioner: shards}, 1, 2},
		{"synchronous", runconfig.Strategy{Name: "parameter_server", Sync: true}, 2, 1},
		{"synchronous, cut", runconfig.Strategy{Name: "parameter_server", Sync: true, Partitioner: shards}, 4, 3},
	}...)
	if testing.Short() {
		strategies = strategies[len(strategies)-3:] // the others have fewer tasks
	}
	for clip := range g.Clips {
		if testing.Short() && clip != optimizers.ClipGlobalNorm {
			continue
		}
		for _, s := range strategies {
			t.Run(fmt.Sprintf("%s/%s", clip, s.name), func(t *testing.T) {
				g.check(t, clip, equalJob{strategy: s.strategy, workers: s.workers, servers: s.servers})
			})
		}
	}
}

// TestClipsOnGPUs is TestClipsAreTensorFlows on emulated GPUs.
func TestClipsOnGPUs(t *testing.T) {
	testkit.NotConcurrent(t)
	gpus := gpustest.Emulated(t, 2)
	g := readClipGolden(t)
	one := runconfig.Strategy{Name: "one_device", Device: "/gpu:0"}
	for _, c := range []struct {
		clip     optimizers.TransformKind
		strategy runconfig.Strategy
	}{
		{optimizers.ClipValue, one}, {optimizers.ClipNorm, one}, {optimizers.ClipGlobalNorm, one},
		{optimizers.ClipGlobalNorm, runconfig.Strategy{Name: "mirrored"}}, {optimizers.ClipValue, runconfig.Strategy{Name: "central_storage"}},
	} {
		t.Run(fmt.Sprintf("%s/%s", c.clip, c.strategy.Name), func(t *testing.T) {
			g.check(t, c.clip, equalJob{strategy: c.strategy, workers: 1, options: []estimator.Option{estimator.WithGPUs(gpus)}, hard: true})
		})
	}
}
