package distribute

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// square is the program loss = mean((w-x)^2) over a batch of x, with its gradient and an update of "seen".
func square(b *graph.Builder) TrainProgram {
	f := graph.Type{DType: tensor.Float64}
	column := graph.Type{DType: tensor.Float64, Shape: graph.BatchOf()}
	x := b.Placeholder("x", column)
	step := b.Read(b.Variable(GlobalStep, graph.Type{DType: tensor.Int64}), graph.Type{DType: tensor.Int64})
	w := b.Read(b.Variable("w", f), f)
	diff := b.Op("Sub", "diff", column, graph.Attrs{"T": tensor.Float64}, w, x)
	axes, err := tensor.FromSlice([]int32{0}, 1)
	b.Fail(err)
	mean := func(name string, v graph.Output) graph.Output {
		return b.Op("Mean", name, f, graph.Attrs{"T": tensor.Float64, "Tidx": tensor.Int32, "keep_dims": false}, v, b.Const(name+"/axes", axes))
	}
	loss := mean("loss", b.Op("Square", "square", column, graph.Attrs{"T": tensor.Float64}, diff))
	grad := b.Op("Mul", "grad", f, graph.Attrs{"T": tensor.Float64}, mean("mean", diff), b.Scalar("two", tensor.Float64, 2))
	v := &models.Variable{Name: "w", DType: tensor.Float64, Trainable: true}
	return TrainProgram{
		Program:    Program{Graph: b.Graph, Feeds: []graph.Output{x}, Fetches: []graph.Output{loss}},
		GlobalStep: step,
		Loss:       loss,
		Train:      &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: []*models.Variable{v}, Rule: rule.SGD{}, LearningRate: optimizers.Constant(0.25)}}},
		Gradients:  []lower.Value{{Output: grad}},
		Updates:    []Update{{Variable: "seen", Value: mean("seen_mean", x)}},
	}
}

// TestContract checks what every strategy of one process must do, on every device.
func TestContract(t *testing.T) {
	for _, c := range []Config{{}, on("default", ""), on("one_device", ""), on("one_device", "/cpu:0"), {CheckNumerics: true}} {
		for _, dev := range []func() device.Device{device.NewHost, device.NewFake} {
			d := dev()
			t.Run(fmt.Sprintf("%s%s on %s", c.Name, c.Device, d.Kind()), func(t *testing.T) {
				s, err := newLocal(c, d)
				if err != nil {
					t.Fatal(err)
				}
				checkStrategy(t, s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// on returns the config of a strategy on a device.
func on(name, device string) Config {
	return Config{Strategy: runconfig.Strategy{Name: name, Device: device}}
}

func checkStrategy(t *testing.T, s Strategy) {
	vars := s.Variables()
	scalar := graph.Type{DType: tensor.Float64}
	for name, v := range map[string]*tensor.Tensor{"w": tensor.Scalar(1.0), "seen": tensor.Scalar(0.0), GlobalStep: tensor.Scalar(int64(0))} {
		if err := vars.Create(name, graph.Type{DType: v.DType}, Whole(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := vars.Create("w", scalar, Whole(tensor.Scalar(1.0))); err == nil {
		t.Error("a name twice: expected an error")
	}
	if err := vars.Set("w", Whole(tensor.Scalar(int64(1)))); err == nil {
		t.Error("a value of another type: expected an error")
	}
	stepper, err := s.Train(square(graph.NewBuilder(graph.New())))
	if err != nil {
		t.Fatal(err)
	}
	w := 1.0
	for i, batch := range [][]float64{{3, 5}, {1}, {2, 2, 2, 6, 8}} {
		mean, loss := 0.0, 0.0
		for _, x := range batch {
			mean += x / float64(len(batch))
			loss += (w - x) * (w - x) / float64(len(batch))
		}
		feed, err := tensor.FromSlice(batch, len(batch))
		if err != nil {
			t.Fatal(err)
		}
		out, err := stepper.Step(context.Background(), Step{Batches: []Batch{{Rows: len(batch), Feeds: []*tensor.Tensor{feed}}}})
		if err != nil {
			t.Fatal(err)
		}
		if want := (Outcome{GlobalStep: int64(i + 1), Applied: true}); out != want {
			t.Errorf("step %d: outcome %+v, expected %+v", i, out, want)
		}
		if got := stepper.Value(0).Float(0); math.Abs(got-loss) > 1e-12 {
			t.Errorf("step %d: loss %g, expected %g", i, got, loss)
		}
		w -= 0.25 * 2 * (w - mean)
		snap, err := s.Snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		all := snap.Tensors
		if got := all["w"].Float(0); math.Abs(got-w) > 1e-12 {
			t.Errorf("step %d: w is %g, expected %g", i, got, w)
		}
		if all["seen"].Float(0) != mean || all[GlobalStep].Float(0) != float64(i+1) {
			t.Errorf("step %d: seen %v and global step %v, expected %g and %d", i, all["seen"].Float(0), all[GlobalStep].Float(0), mean, i+1)
		}
	}
	if r := stepper.LearningRate(); r != 0.25 {
		t.Errorf("learning rate %g, expected 0.25", r)
	}
	if err := stepper.Close(); err != nil {
		t.Error(err)
	}
	if names := vars.Names(); !slices.Equal(names, []string{GlobalStep, "seen", "w"}) {
		t.Errorf("variables %v", names)
	}
	if r := s.Replicas(); r != (Replicas{InSync: 1, Local: 1}) {
		t.Errorf("replicas %+v, expected one", r)
	}
}

// TestThreadsOfKernels: the last strategy sets the number of threads of kernels; 0: one per core.
func TestThreadsOfKernels(t *testing.T) {
	for _, c := range []struct{ threads, want int }{{1, 1}, {0, runtime.GOMAXPROCS(0)}} {
		s, err := New(Config{Threads: c.threads})
		if err != nil {
			t.Fatal(err)
		}
		if got := kernels.Threads(); got != c.want {
			t.Errorf("%d threads asked for: got %d, expected %d", c.threads, got, c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusedStrategies(t *testing.T) {
	for want, c := range map[string]Config{
		"no TPU runtime": on("tpu", ""),
		"unknown strategy \"miror\": expected one of central_storage, default": on("miror", ""),
		`strategy one_device: device "/device:X": expected /gpu:N, /cpu:0`:     on("one_device", "/device:X"),
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, expected %q", c, err, want)
		}
		if err := c.Validate(); err == nil {
			t.Errorf("%+v: Validate found nothing", c)
		}
	}
}

func ExampleNew() {
	s, err := New(Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	fmt.Println(s.Name(), s.Replicas().InSync)
	_, err = New(Config{Strategy: runconfig.Strategy{Name: "tpu"}})
	fmt.Println(err)
	// Output:
	// default 1
	// strategy tpu: no TPU runtime is present: choose default
}
