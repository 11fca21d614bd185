package distribute

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// column is a batch of that many rows.
func column(t *testing.T, x ...float64) Batch {
	v, err := tensor.FromSlice(x, len(x))
	if err != nil {
		t.Fatal(err)
	}
	return Batch{Rows: len(x), Feeds: []*tensor.Tensor{v}}
}

// TestReplicasAreAveraged: with mirrored and central_storage, the loss, the update and the averages of a step are means
// over the replicas that had data.
func TestReplicasAreAveraged(t *testing.T) {
	for _, central := range []bool{false, true} {
		for name, dev := range map[string]func() device.Device{"host": device.NewHost, "fake": device.NewFake} {
			t.Run(fmt.Sprintf("central %v on %s", central, name), func(t *testing.T) {
				devs := []device.Device{dev(), dev(), dev()}
				owners := devs
				if central {
					owners = []device.Device{device.NewHost()}
				}
				s, err := newReplicated(Config{Strategy: runconfig.Strategy{Name: "mirrored"}}, devs, owners)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				checkReplicas(t, s)
			})
		}
	}
}

func checkReplicas(t *testing.T, s *replicated) {
	for name, v := range map[string]*tensor.Tensor{"w": tensor.Scalar(1.0), "seen": tensor.Scalar(0.0), GlobalStep: tensor.Scalar(int64(0))} {
		if err := s.Variables().Create(name, graph.Type{DType: v.DType}, Whole(v)); err != nil {
			t.Fatal(err)
		}
	}
	stepper, err := s.Train(square(graph.NewBuilder(graph.New())))
	if err != nil {
		t.Fatal(err)
	}
	defer stepper.Close()
	w := 1.0
	for i, batches := range [][]Batch{
		{column(t, 3, 5), column(t, 1), column(t, 2, 2, 2, 6, 8)},
		{column(t, -3), column(t, 1, 7)},
		{column(t, 9)},
	} {
		loss, grad, seen := 0.0, 0.0, 0.0
		for _, b := range batches {
			for _, x := range tensor.Values[float64](b.Feeds[0]) {
				n := float64(b.Rows * len(batches))
				loss, grad, seen = loss+(w-x)*(w-x)/n, grad+2*(w-x)/n, seen+x/n
			}
		}
		out, err := stepper.Step(context.Background(), Step{Batches: batches})
		if err != nil {
			t.Fatal(err)
		}
		if want := (Outcome{GlobalStep: int64(i + 1), Applied: true}); out != want {
			t.Errorf("step %d: %+v, expected %+v", i, out, want)
		}
		w -= 0.25 * grad
		near(t, "loss", stepper.Value(0), loss)
		for c := range s.copies {
			got, err := s.copies[c].Get("w")
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("w of copy %d", c), got, w)
		}
		got, err := s.Variables().Get("seen")
		if err != nil {
			t.Fatal(err)
		}
		near(t, "seen", got, seen)
	}
	out, err := stepper.Step(context.Background(), Step{Stop: Finished})
	if want := (Outcome{GlobalStep: 3, Stop: Finished}); err != nil || out != want {
		t.Errorf("a step without data: %+v, %v, expected %+v", out, err, want)
	}
}

func near(t *testing.T, what string, got *tensor.Tensor, want float64) {
	t.Helper()
	if x := got.Float(0); math.Abs(x-want) > 1e-12 {
		t.Errorf("%s is %g, expected %g", what, x, want)
	}
}

// embedding is the program loss = sum over ids of table[id]^2 / 2, whose gradient is sparse.
func embedding(b *graph.Builder, rows int) TrainProgram {
	f := tensor.Float64
	ids := b.Placeholder("ids", graph.Type{DType: tensor.Int64, Shape: graph.BatchOf()})
	tableType := graph.Type{DType: f, Shape: graph.ShapeOf(rows, 2)}
	table := b.Read(b.Variable("table", tableType), tableType)
	axis := b.Scalar("axis", tensor.Int32, 0)
	picked := b.Op("GatherV2", "picked", graph.Type{DType: f, Shape: graph.BatchOf(2)},
		graph.Attrs{"Tparams": f, "Tindices": tensor.Int64, "Taxis": tensor.Int32, "batch_dims": int64(0)}, table, ids, axis)
	loss := b.Op("L2Loss", "loss", graph.Type{DType: f}, graph.Attrs{"T": f}, picked)
	step := b.Read(b.Variable(GlobalStep, graph.Type{DType: tensor.Int64}), graph.Type{DType: tensor.Int64})
	v := &models.Variable{Name: "table", DType: f, Shape: []int{rows, 2}, Trainable: true}
	return TrainProgram{
		Program:    Program{Graph: b.Graph, Feeds: []graph.Output{ids}, Fetches: []graph.Output{loss}},
		GlobalStep: step, Loss: loss,
		Train:     &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: []*models.Variable{v}, Rule: rule.SGD{}, LearningRate: optimizers.Constant(0.5)}}},
		Gradients: []lower.Value{lower.SparseValue(tableType.Shape, lower.Slices{Rows: picked, Indices: ids})},
	}
}

// TestSparseGradientsOfReplicas: rows of several replicas update one table; rows that several replicas have are updated more than once.
func TestSparseGradientsOfReplicas(t *testing.T) {
	hosts := []device.Device{device.NewHost(), device.NewHost()}
	s, err := newReplicated(Config{Strategy: runconfig.Strategy{Name: "mirrored"}}, hosts, hosts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table := []float64{1, 1, 2, 2, 4, 4, 8, 8}
	value, err := tensor.FromSlice(table, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*tensor.Tensor{"table": value, GlobalStep: tensor.Scalar(int64(0))} {
		if err := s.Variables().Create(name, graph.Type{DType: v.DType, Shape: graph.ShapeOf(v.Shape...)}, Whole(v)); err != nil {
			t.Fatal(err)
		}
	}
	stepper, err := s.Train(embedding(graph.NewBuilder(graph.New()), 4))
	if err != nil {
		t.Fatal(err)
	}
	defer stepper.Close()
	for range 2 {
		var batches []Batch
		grad := make([]float64, 4)
		for _, ids := range [][]int64{{0, 3, 3}, {3, 1}} {
			v, err := tensor.FromSlice(ids, len(ids))
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, Batch{Rows: len(ids), Feeds: []*tensor.Tensor{v}})
			for _, id := range ids {
				grad[id] += table[2*id] / 2
			}
		}
		if _, err := stepper.Step(context.Background(), Step{Batches: batches}); err != nil {
			t.Fatal(err)
		}
		for i := range table {
			table[i] -= 0.5 * grad[i/2]
		}
	}
	for c := range s.copies {
		got, err := s.copies[c].Get("table")
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range table {
			if x := got.Float(i); math.Abs(x-want) > 1e-12 {
				t.Errorf("copy %d: element %d is %g, expected %g", c, i, x, want)
			}
		}
	}
}
