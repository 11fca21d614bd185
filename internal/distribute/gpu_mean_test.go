package distribute

import (
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// regression is the program loss = sum of (x*w)^2 / 2, in float32, with a dense gradient, and an average in float64.
func regression(b *graph.Builder) TrainProgram {
	f, batch := tensor.Float32, graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(5)}
	x := b.Placeholder("x", batch)
	wType := graph.Type{DType: f, Shape: graph.ShapeOf(5, 7)}
	w := b.Read(b.Variable("w", wType), wType)
	product := func(name string, t graph.Type, transpose bool, a, c graph.Output) graph.Output {
		return b.Op("MatMul", name, t, graph.Attrs{"T": f, "transpose_a": transpose, "transpose_b": false}, a, c)
	}
	y := product("y", graph.Type{DType: f, Shape: graph.BatchOf(7)}, false, x, w)
	loss := b.Op("L2Loss", "loss", graph.Type{DType: f}, graph.Attrs{"T": f}, y)
	double := b.Op("Cast", "double", graph.Type{DType: tensor.Float64}, graph.Attrs{"SrcT": f, "DstT": tensor.Float64}, loss)
	step := b.Read(b.Variable(GlobalStep, graph.Type{DType: tensor.Int64}), graph.Type{DType: tensor.Int64})
	v := &models.Variable{Name: "w", DType: f, Shape: []int{5, 7}, Trainable: true}
	return TrainProgram{
		Program:    Program{Graph: b.Graph, Feeds: []graph.Output{x}, Fetches: []graph.Output{y, loss}},
		GlobalStep: step, Loss: loss,
		Train:     &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: []*models.Variable{v}, Rule: rule.SGD{}, LearningRate: optimizers.Constant(0.01)}}},
		Gradients: []lower.Value{{Output: product("grad", wType, true, x, y)}},
		Updates:   []Update{{Variable: "seen", Value: double}},
	}
}

// trainRegression returns the losses of some steps of a program with that many Rows, the last step with fewer batches than
// replicas, and the variables of each copy.
func trainRegression(t *testing.T, s *replicated, rows int) (losses []float64, w [][]float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 3))
	random := func(shape ...int) *tensor.Tensor {
		v := tensor.New(tensor.Float32, shape...)
		for i := range tensor.Values[float32](v) {
			tensor.Values[float32](v)[i] = float32(r.NormFloat64())
		}
		return v
	}
	for name, v := range map[string]*tensor.Tensor{"seen": tensor.Scalar(0.0), GlobalStep: tensor.Scalar(int64(0))} {
		if err := s.Variables().Create(name, graph.Type{DType: v.DType}, Whole(v)); err != nil {
			t.Fatal(err)
		}
	}
	first := random(5, 7)
	if err := s.Variables().Create("w", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(5, 7)}, Whole(first)); err != nil {
		t.Fatal(err)
	}
	p := regression(graph.NewBuilder(graph.New()))
	p.Rows = rows
	stepper, err := s.Train(p)
	if err != nil {
		t.Fatal(err)
	}
	if on := stepper.(*replicatedStepper).gpus != nil; on != (s.devices[0].Kind() != device.KindHost) {
		t.Errorf("gradients stay on the GPUs: %v on %s", on, s.devices[0].Kind())
	}
	for i := range 6 {
		var batches []Batch
		for k := range s.replicas - i/5 {
			batches = append(batches, Batch{Rows: 3 + k + i%2, Feeds: []*tensor.Tensor{random(3+k+i%2, 5)}})
		}
		out, err := stepper.Step(context.Background(), Step{Batches: batches})
		if err != nil || !out.Applied || out.GlobalStep != int64(i+1) {
			t.Fatalf("step %d: %+v, %v", i, out, err)
		}
		losses = append(losses, stepper.Value(1).Float(0))
		if y := stepper.Value(0); y == nil || y.Shape[1] != 7 {
			t.Errorf("step %d: fetches of the caller: got %v", i, y)
		}
	}
	if out, err := stepper.Step(context.Background(), Step{Stop: Finished}); err != nil || out.Applied {
		t.Errorf("a step without data: got %+v, %v", out, err)
	}
	for _, c := range s.copies {
		v, err := c.Get("w")
		if err != nil {
			t.Fatal(err)
		}
		w = append(w, append([]float32(nil), tensor.Values[float32](v)...))
	}
	if err := errors.Join(stepper.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	return losses, w
}

// TestGradientsStayOnGPUs: mirrored on GPUs trains as on the host with replicas that count equally, whatever their rows.
func TestGradientsStayOnGPUs(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d GPUs", n), func(t *testing.T) {
			made, err := New(onGPUs(t, n, runconfig.Strategy{Name: "mirrored"}))
			if err != nil {
				t.Fatal(err)
			}
			losses, w := trainRegression(t, made.(*replicated), 4)
			hosts := make([]device.Device, n)
			for i := range hosts {
				hosts[i] = device.NewHost()
			}
			plain, err := newReplicated(Config{Strategy: runconfig.Strategy{Name: "mirrored"}}, hosts, hosts)
			if err != nil {
				t.Fatal(err)
			}
			wantLosses, want := trainRegression(t, plain, 0)
			for i, l := range losses {
				if math.Abs(l-wantLosses[i]) > 1e-6*wantLosses[i] {
					t.Errorf("loss of step %d: expected %g, got %g", i, wantLosses[i], l)
				}
			}
			for c := range w {
				for i, x := range w[c] {
					if x != w[0][i] {
						t.Fatalf("copies differ: element %d of copy %d is %g, of copy 0 %g", i, c, x, w[0][i])
					}
					if math.Abs(float64(x-want[c][i])) > 1e-6 {
						t.Errorf("copy %d, element %d: expected %g, got %g", c, i, want[c][i], x)
					}
				}
			}
		})
	}
}
