package update

import (
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/optimizers"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
)

// dynamic adds the state of a loss scale to a TrainOp.
func dynamic(op *optimizers.TrainOp, d tensor.DType, l optimizers.LossScale) *optimizers.TrainOp {
	op.LossScale = l
	op.Scale = &optimizers.ScaleState{
		Scale: &models.Variable{Name: "current_loss_scale", DType: d, Init: initializers.Constant{Value: l.Initial}},
		Good:  &models.Variable{Name: "good_steps", DType: tensor.Int64, Init: initializers.Zeros()},
	}
	return op
}

// scaleSteps is the algorithm of tf.keras.mixed_precision.LossScaleOptimizer in float64.
type scaleSteps struct {
	scale, good float64
	growth      float64
}

func (s *scaleSteps) step(finite bool) {
	switch {
	case !finite:
		s.scale, s.good = max(s.scale/2, 1), 0
	case s.good+1 >= s.growth:
		if 2*s.scale <= math.MaxFloat32 {
			s.scale *= 2
		}
		s.good = 0
	default:
		s.good++
	}
}

// TestLossScaleOfKeras compares with Keras 2.15's results for the same gradients: legacy optimizers with a
// LossScaleOptimizer with initial_scale=4, dynamic_growth_steps=3, in float32.
func TestLossScaleOfKeras(t *testing.T) {
	pattern := "111011000011111101"
	scales := []float64{4, 4, 8, 4, 4, 4, 2, 1, 1, 1, 1, 1, 2, 2, 2, 4, 2, 2}
	good := []float64{1, 2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 2, 0, 1, 2, 0, 0, 1}
	for _, c := range []struct {
		rule rule.Rule
		rate float64
		want []float64
	}{
		{rule.KerasSGD{Momentum: 0.5}, 0.5, []float64{1.1875, 1.34375, 1.359375, 1.359375, 1.0546875, 1.08984375, 1.08984375, 1.08984375, 1.08984375, 1.08984375,
			1.294921875, 1.4599609375, 1.47998046875, 1.302490234375, 0.9012451171875, 0.88812255859375, 0.88812255859375, 0.819061279296875}},
		{rule.KerasAdam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}, 0.25, []float64{1.249997854232788, 1.4677612781524658, 1.5800527334213257, 1.5800527334213257, 1.514044165611267, 1.5215858221054077,
			1.5215858221054077, 1.5215858221054077, 1.5215858221054077, 1.5215858221054077, 1.5765670537948608, 1.6418030261993408, 1.6839500665664673,
			1.674199104309082, 1.6025464534759521, 1.5775972604751587, 1.5775972604751587, 1.5424226522445679}},
	} {
		w := &models.Variable{Name: "w", DType: tensor.Float32, Trainable: true}
		o := &optimizers.Optimizer{Rule: c.rule, LearningRate: optimizers.Constant(c.rate), SlotNames: optimizers.KerasNames}
		tr := start(t, dynamic(trainOp(o, w), tensor.Float32, optimizers.LossScale{Initial: 4, GrowthSteps: 3}), map[string]*tensor.Tensor{"w": tensor.Scalar(float32(1))}, nil)
		for i, p := range pattern {
			g := 0.25 * (float64(i%5) - 1.5) * tr.get("current_loss_scale")[0]
			if p == '0' {
				g = math.Inf(1)
				if i == 16 {
					g = math.NaN()
				}
			}
			tr.run(tensor.Scalar(float32(g)))
			near(t, "scale", tr.get("current_loss_scale"), scales[i:i+1], 0)
			near(t, "good steps", tr.get("good_steps"), good[i:i+1], 0)
			near(t, "w", tr.get("w"), c.want[i:i+1], 2e-6)
			near(t, "iterations", tr.get("training/"+c.rule.Traits().Label+"/iter"), []float64{float64(i + 1)}, 0)
		}
	}
}

// TestLossScaleOfRules checks every rule, with and without clipping, for dense and sparse gradients: an update with
// finite gradients is the same as without a scale; any other changes only the scale and Keras's count.
func TestLossScaleOfRules(t *testing.T) {
	const n, growth = 4, 3
	for _, ref := range references() {
		for _, sparse := range []map[string]int{nil, {"w": 3}} {
			t.Run(ref.String(), func(t *testing.T) {
				plain := ref.optimizer(t)
				if name := plain.Rule.Name(); sparse != nil && name != "sgd" && name != "adam" && name != "momentum" && name != "adagrad" {
					return
				}
				plain.Transforms = []optimizers.Transform{{Kind: optimizers.ClipGlobalNorm, Limit: 0.7}}
				r := rand.New(rand.NewPCG(9, uint64(len(sparse))))
				v := func() *models.Variable { return variable("w", n, 1) }
				initial := map[string]*tensor.Tensor{"w": matrix(normals(r, n), n, 1)}
				one := start(t, trainOp(plain, v()), initial, sparse)
				scaled := start(t, dynamic(trainOp(plain, v()), tensor.Float64, optimizers.LossScale{Initial: 1 << 10, GrowthSteps: growth}), initial, sparse)
				want := scaleSteps{1 << 10, 0, growth}
				for i := range 20 {
					finite := i%4 != 3 && i != 9
					if plain.Rule.(rule.Rule).Traits().Keras && !finite {
						continue // its bias correction counts skipped updates: see TestLossScaleOfKeras
					}
					m := n
					if sparse != nil {
						m = 3
					}
					g := normals(r, m)
					big := make([]float64, m)
					for j := range g {
						big[j] = g[j] * want.scale
					}
					if !finite {
						big[i%m] = math.Inf(1 - 2*(i%2))
					}
					gs, bs := []*tensor.Tensor{matrix(g, m, 1)}, []*tensor.Tensor{matrix(big, m, 1)}
					if sparse != nil {
						ids, _ := tensor.FromSlice([]int64{2, 0, 2}, 3)
						gs, bs = append(gs, ids), append(bs, ids)
					}
					scaled.run(bs...)
					if want.step(finite); finite {
						one.run(gs...)
					}
					near(t, "scale", scaled.get("current_loss_scale"), []float64{want.scale}, 0)
					near(t, "good steps", scaled.get("good_steps"), []float64{want.good}, 0)
					for _, name := range one.vars.Names() {
						near(t, name, scaled.get(name), one.get(name), 1e-15)
					}
				}
			})
		}
	}
}

// TestLossScaleAccumulates: the sum of a window decides, and the scale changes only at its end.
func TestLossScaleAccumulates(t *testing.T) {
	o := mustNew(t, "adam", map[string]any{"learning_rate": 0.1, "accumulate_steps": 2})
	initial := map[string]*tensor.Tensor{"w": vector(1, 2)}
	scaled := start(t, dynamic(trainOp(o, variable("w", 2)), tensor.Float64, optimizers.LossScale{Initial: 8, GrowthSteps: 2}), initial, nil)
	plain := start(t, trainOp(o, variable("w", 2)), initial, nil)
	inf := math.Inf(1)
	for i, c := range []struct{ g, scale, good float64 }{
		{1, 8, 0}, {2, 8, 1}, // an update
		{inf, 8, 1}, {1, 4, 0}, // left out
		{1, 4, 0}, {1, 4, 1}, {-3, 4, 1}, {1, 8, 0}, {1, 8, 0}, {inf, 4, 0}, {1, 4, 0}, {1, 4, 1},
	} {
		g := c.g * scaled.get("current_loss_scale")[0]
		scaled.run(vector(g, 0.5*g))
		if skipped := i == 2 || i == 3 || i == 8 || i == 9; !skipped {
			plain.run(vector(c.g, 0.5*c.g))
		}
		near(t, "scale", scaled.get("current_loss_scale"), []float64{c.scale}, 0)
		near(t, "good steps", scaled.get("good_steps"), []float64{c.good}, 0)
		for _, name := range []string{"w", "w/Adam", "w/Adam_1", "beta1_power"} {
			near(t, name, scaled.get(name), plain.get(name), 1e-15)
		}
	}
}

// TestLossScaleEnds: the scale stays in [1, the largest float32].
func TestLossScaleEnds(t *testing.T) {
	for _, c := range []struct{ initial, g, want float64 }{{1.5, math.NaN(), 1}, {1, math.Inf(-1), 1}, {math.MaxFloat32, 1, math.MaxFloat32}, {0x1p126, 1, 0x1p127}, {0x1p127, 1, 0x1p127}} {
		w := &models.Variable{Name: "w", DType: tensor.Float32, Trainable: true}
		tr := start(t, dynamic(trainOp(sgd(1), w), tensor.Float32, optimizers.LossScale{Initial: c.initial, GrowthSteps: 1}), map[string]*tensor.Tensor{"w": tensor.Scalar(float32(1))}, nil)
		tr.run(tensor.Scalar(float32(c.g)))
		near(t, "scale", tr.get("current_loss_scale"), []float64{c.want}, 0)
	}
}

// TestLossScaleFixedEnds: the smallest and the largest scale do not change float32 gradients.
func TestLossScaleFixedEnds(t *testing.T) {
	for _, scale := range []float64{0x1p-126, 0x1p127} {
		w := &models.Variable{Name: "w", DType: tensor.Float32, Trainable: true}
		op := trainOp(sgd(1), w)
		op.LossScale = optimizers.LossScale{Initial: scale}
		tr := start(t, op, map[string]*tensor.Tensor{"w": tensor.Scalar(float32(1))}, nil)
		tr.run(tensor.Scalar(float32(0.5 * scale)))
		near(t, "w", tr.get("w"), []float64{0.5}, 0)
	}
}

// TestMinimizeScaled: training with a fixed or a dynamic scale gives the same result as without.
func TestMinimizeScaled(t *testing.T) {
	results := map[string]map[string]*tensor.Tensor{}
	x, y := matrix([]float64{0, 0, 1, 0, 0, 1, 1, 1}, 4, 2), matrix([]float64{0.5, 2.5, -0.5, 1.5}, 4, 1)
	for _, scale := range []string{"none", "64", "3", "dynamic"} {
		var op *optimizers.TrainOp
		b, err := build(func(b *models.Builder) error {
			op = mustNew(t, "momentum", map[string]any{"learning_rate": 0.05, "loss_scale": scale, "clip_norm": 1}).Minimize(b, regression(b))
			return nil
		})
		must(t, err)
		results[scale] = train(t, b, op, 50, x, y)
	}
	for scale, tolerance := range map[string]float64{"64": 0, "dynamic": 0, "3": 1e-14} {
		for name, want := range results["none"] {
			near(t, scale+" "+name, tensor.Values[float64](results[scale][name]), tensor.Values[float64](want), tolerance)
		}
	}
	near(t, "scale", tensor.Values[float64](results["dynamic"]["current_loss_scale"]), []float64{1 << 15}, 0)
	if n := tensor.Values[int64](results["dynamic"]["good_steps"])[0]; n != 50 {
		t.Errorf("%d good steps, expected 50", n)
	}
}

// TestMinimizeScaledTable scales sparse gradients.
func TestMinimizeScaledTable(t *testing.T) {
	var tables [2][]float64
	ids, _ := tensor.FromSlice([]int64{0, 0, 2, 5}, 4)
	for i, scale := range []any{"dynamic", 1} {
		var op *optimizers.TrainOp
		b, err := build(func(b *models.Builder) error {
			x := b.Input("ids", tensor.Int64, b.Batch())
			table := b.Variable("table", []int{6, 1}, models.WithInit(initializers.Ones()))
			op = mustNew(t, "adagrad", map[string]any{"learning_rate": 0.1, "loss_scale": scale}).Minimize(b, ops.Mean(b, ops.Square(b, ops.Gather(b, table, x))))
			return nil
		})
		must(t, err)
		tables[i] = tensor.Values[float64](train(t, b, op, 20, ids)["table"])
	}
	near(t, "table", tables[0], tables[1], 0)
}

func TestWrongLossScales(t *testing.T) {
	for _, x := range []any{0, -1, "x", "", "nan", "inf", 1e39, 1e-39, 1e-300, true, []int{1}, map[string]any{}} {
		if _, err := optimizers.New("sgd", map[string]any{"loss_scale": x}); err == nil || !strings.Contains(err.Error(), "loss_scale: got") {
			t.Errorf("%v: got %v", x, err)
		}
	}
	for x, want := range map[any]optimizers.LossScale{"none": {}, "dynamic": optimizers.DynamicLossScale(), 8: {Initial: 8}, "0.5": {Initial: 0.5}, 1e3: {Initial: 1e3}} {
		if o, err := optimizers.New("sgd", map[string]any{"loss_scale": x}); err != nil || o.LossScale != want {
			t.Errorf("%v: got %+v, %v", x, o, err)
		}
	}
	for _, l := range []optimizers.LossScale{{Initial: 0.5, GrowthSteps: 1}, {Initial: math.NaN()}, {Initial: 0x1p-127}, {Initial: 4, GrowthSteps: -1}, {GrowthSteps: 3}} {
		o := sgd(1)
		o.LossScale = l
		_, err := build(func(b *models.Builder) error { o.Minimize(b, regression(b)); return nil })
		if err == nil || !strings.Contains(err.Error(), "loss_scale: got") {
			t.Errorf("%+v: got %v", l, err)
		}
	}
	op := trainOp(sgd(1), variable("w", 1))
	op.LossScale = optimizers.DynamicLossScale()
	b := graph.NewBuilder(graph.New())
	env := Env{GlobalStep: b.Scalar("step", tensor.Int64, 0)}
	env.Gradients = []lower.Value{{Output: b.Placeholder("g", graph.Type{DType: tensor.Float64, Shape: graph.ShapeOf(1)})}}
	if _, err := Emit(op, b, env); err == nil || !strings.Contains(err.Error(), "expected the variables of a loss scale") {
		t.Errorf("without its variables: got %v", err)
	}
	two := optimizers.DynamicLossScale()
	_, err := build(func(b *models.Builder) error {
		b.Variable("current_loss_scale", nil)
		(&optimizers.Optimizer{Rule: rule.SGD{}, LearningRate: optimizers.Constant(1), LossScale: two}).Minimize(b, regression(b))
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "current_loss_scale already exists") {
		t.Errorf("a variable of that name: got %v", err)
	}
}
