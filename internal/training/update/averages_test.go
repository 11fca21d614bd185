package update

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// averagingCase is a rule with averages, and TensorFlow's results for the gradients of tensorflowFile; interop/python/averages.py writes it.
type averagingCase struct {
	Rule   string   `json:"rule"`
	Rate   float64  `json:"rate"`
	Kind   string   `json:"kind"`
	Decay  float64  `json:"decay"`
	Rising bool     `json:"rising"`
	Start  int64    `json:"start"`
	Every  int64    `json:"every"`
	Dense  averaged `json:"dense"`
	Sparse averaged `json:"sparse"`
}

type averaged struct {
	W       []float64 `json:"w"`
	Average []float64 `json:"average"`
}

func (c averagingCase) String() string {
	return fmt.Sprintf("%s with %s %g rising %v from %d every %d", c.Rule, c.Kind, c.Decay, c.Rising, c.Start, c.Every)
}

func (c averagingCase) averaging() optimizers.Averaging {
	return optimizers.Averaging{Kind: optimizers.AveragingKind(c.Kind), Decay: c.Decay, Rising: c.Rising, Start: c.Start, Every: c.Every}
}

func (c averagingCase) optimizer() *optimizers.Optimizer {
	if c.Rule == "sgd" {
		return optimizers.SGD(c.Rate)
	}
	return optimizers.Adam(c.Rate, optimizers.WithKeras(), optimizers.WithBeta1(0.75), optimizers.WithBeta2(0.875), optimizers.WithEpsilon(0.125))
}

// averagedOp returns a group of one variable with an average.
func averagedOp(o *optimizers.Optimizer, a optimizers.Averaging, v *models.Variable) *optimizers.TrainOp {
	op := trainOp(o, v)
	own, _ := o.Rule.(rule.Rule)
	op.Groups[0].Rule = rule.Averaged{Rule: own, Averaging: rule.Averaging{Kind: string(a.Kind), Decay: a.Decay, Rising: a.Rising, Start: a.Start, Every: max(a.Every, 1)}}
	return op
}

// given is an initial value.
type given []float64

func (g given) Init(dst *tensor.Tensor, _ uint64) error {
	copy(dst.Bytes, numbers(dst.DType, g, dst.Shape...).Bytes)
	return nil
}

// TestAveragesOfTensorFlow compares averages with Keras' use_ema, tf.train.ExponentialMovingAverage and the SWA formula of TensorFlow Addons.
func TestAveragesOfTensorFlow(t *testing.T) {
	data, err := os.ReadFile("testdata/averages.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []averagingCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	in := readAnswers(t)
	for _, c := range cases {
		for _, kind := range []struct {
			name string
			in   gradients
			want averaged
		}{{"dense", in.Dense, c.Dense}, {"sparse", in.Sparse, c.Sparse}} {
			for _, d := range []struct {
				dev       device.Device
				dtype     tensor.DType
				tolerance float64
			}{{device.NewHost(), tensor.Float64, 1e-7}, {device.NewFake(), tensor.Float32, 1e-4}} {
				v := &models.Variable{Name: "w", DType: d.dtype, Shape: kind.in.Shape, Trainable: true, Init: given(kind.in.W)}
				op := averagedOp(c.optimizer(), c.averaging(), v)
				got := runAveraged(t, d.dev, op, kind.in)
				near(t, fmt.Sprint(c, " ", kind.name, ": variable"), got.W, kind.want.W, d.tolerance)
				near(t, fmt.Sprint(c, " ", kind.name, ": average"), got.Average, kind.want.Average, d.tolerance)
			}
		}
	}
}

// runAveraged makes all steps.
func runAveraged(t *testing.T, dev device.Device, op *optimizers.TrainOp, in gradients) averaged {
	t.Helper()
	v := op.Groups[0].Variables[0]
	rows := map[string]int{}
	if in.IDs != nil {
		rows["w"] = len(in.IDs[0])
	}
	tr := startOn(t, dev, op, map[string]*tensor.Tensor{"w": numbers(v.DType, in.W, in.Shape...)}, rows)
	for step, g := range in.Grads {
		if in.IDs == nil {
			tr.run(numbers(v.DType, g, in.Shape...))
			continue
		}
		ids, err := tensor.FromSlice(in.IDs[step], len(in.IDs[step]))
		if err != nil {
			t.Fatal(err)
		}
		tr.run(numbers(v.DType, g, append([]int{len(in.IDs[step])}, in.Shape[1:]...)...), ids)
	}
	return averaged{tr.get("w"), tr.get(Averages(op)["w"])}
}

// TestAveragesOfEveryRule: for every rule and every form of gradient, the average follows from the variable's values,
// which are the same as without an average.
func TestAveragesOfEveryRule(t *testing.T) {
	in := readAnswers(t)
	a := optimizers.Averaging{Kind: optimizers.EMA, Decay: 0.75}
	for _, name := range optimizers.Names() {
		for kind, g := range map[string]gradients{"dense": in.Dense, "sparse": in.Sparse} {
			v := &models.Variable{Name: "w", DType: tensor.Float64, Shape: g.Shape, Trainable: true, Init: given(g.W)}
			o := mustNew(t, name, map[string]any{"weight_decay": 0.125})
			average := slices.Clone(g.W)
			var w []float64
			for n := range g.Grads {
				part := g
				part.Grads = g.Grads[:n+1]
				w = (combination{Rule: name}).run(t, device.NewHost(), trainOp(o, v), part).W
				for i := range average {
					average[i] = 0.75*average[i] + 0.25*w[i]
				}
			}
			got := runAveraged(t, device.NewHost(), averagedOp(o, a, v), g)
			if !slices.Equal(got.W, w) {
				t.Errorf("%s %s: the variable is %v, without average %v", name, kind, got.W, w)
			}
			near(t, name+" "+kind, got.Average, average, 1e-12)
		}
	}
}

// TestAveragesCountUpdates: a window of accumulated batches is one update, and a skipped update changes no average.
func TestAveragesCountUpdates(t *testing.T) {
	w := []float64{1, 2}
	v := &models.Variable{Name: "w", DType: tensor.Float64, Shape: []int{2}, Trainable: true, Init: given(w)}
	step := func(a optimizers.Averaging, change func(op *optimizers.TrainOp), grads ...float64) averaged {
		op := averagedOp(optimizers.SGD(1), a, v)
		change(op)
		in := gradients{Shape: []int{2}, W: w}
		for _, g := range grads {
			in.Grads = append(in.Grads, []float64{g, g})
		}
		return runAveraged(t, device.NewHost(), op, in)
	}
	windows := func(op *optimizers.TrainOp) { op.AccumulateSteps = 2 }
	ema := optimizers.Averaging{Kind: optimizers.EMA, Decay: 0.5}
	near(t, "ema within the first window", step(ema, windows, 8).Average, []float64{1, 2}, 0)
	near(t, "ema after one window", step(ema, windows, 8, 8).Average, []float64{-3, -2}, 0) // (1 + -7)/2
	near(t, "ema within the second window", step(ema, windows, 8, 8, 4).Average, []float64{-3, -2}, 0)
	swa := optimizers.Averaging{Kind: optimizers.SWA, Start: 1, Every: 1}
	near(t, "swa before it starts", step(swa, windows, 2, 2).Average, []float64{-1, 0}, 0) // the variable
	near(t, "swa from update 1", step(swa, windows, 2, 2, 2, 2).Average, []float64{-3, -2}, 0)
	near(t, "swa of two", step(swa, windows, 2, 2, 2, 2, 2, 2).Average, []float64{-4, -3}, 0) // (-3 + -5)/2
	scaled := func(op *optimizers.TrainOp) {
		dynamic(op, tensor.Float64, optimizers.LossScale{Initial: 1, GrowthSteps: 100})
	}
	near(t, "a first update that is left out", step(ema, scaled, math.Inf(1)).Average, []float64{1, 2}, 0)
	near(t, "the update behind it", step(ema, scaled, math.NaN(), 2).Average, []float64{0, 1}, 0)
}

func TestAveragesBySlots(t *testing.T) {
	v := &models.Variable{Name: "dense/kernel", DType: tensor.Float32, Shape: []int{3}, Trainable: true, Init: initializers.Constant{Value: 2}}
	op := averagedOp(optimizers.Adam(0.1), optimizers.Averaging{Kind: optimizers.SWA}, v)
	for _, names := range []optimizers.SlotNames{optimizers.V1Names, optimizers.KerasNames} {
		op.SlotNames = names
		if got := Averages(op); len(got) != 1 || got["dense/kernel"] != "dense/kernel/StochasticWeightAverage" {
			t.Errorf("%s: got the averages %v", names, got)
		}
	}
	if got := AverageSlots(op); !slices.Equal(got, []string{"StochasticWeightAverage"}) {
		t.Errorf("got the slots %v", got)
	}
	if got := Averages(trainOp(optimizers.SGD(1), v)); len(got) > 0 {
		t.Errorf("without averaging: %v", got)
	}
}
