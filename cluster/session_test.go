package cluster_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/cluster/inprocess"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
)

func start(t *testing.T, jobs map[string]int) *inprocess.Cluster {
	t.Helper()
	c, err := inprocess.Start(jobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func dial(t *testing.T, target string, g *cluster.Graph, opts ...cluster.Option) *cluster.Session {
	t.Helper()
	s, err := cluster.Dial(t.Context(), target, g, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) }) // also of a lost server
	return s
}

// line is y = w*x + 1 with w, initially 3, on the first parameter server, and a step that subtracts 2*w from it.
func line(t *testing.T) *cluster.Graph {
	t.Helper()
	g, err := cluster.Build(cluster.Options{}, func(b *cluster.Builder) error {
		b.Device(cluster.On("/job:ps/task:0"), func() {
			w := b.Variable("w", nil, models.WithInit(initializers.Constant{Value: 3}))
			b.Train("train", optimizers.SGD(1).Minimize(b, ops.Square(b, w)))
			x := b.Input("x", tensor.Float32, b.Batch())
			b.Device(cluster.On("/job:worker/task:0"), func() {
				b.Fetch("y", ops.Add(b, ops.Mul(b, x, w), ops.Constant(b, tensor.Scalar(float32(1)))))
			})
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func vector(t *testing.T, v ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(v, len(v))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func floats(t *testing.T, x *tensor.Tensor, want ...float32) {
	t.Helper()
	if got := tensor.Values[float32](x); !slices.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

func TestSession(t *testing.T) {
	c := start(t, map[string]int{"worker": 1, "ps": 1})
	ctx := t.Context()
	s := dial(t, c.Target("worker", 0), line(t))
	if names, err := s.Uninitialized(ctx); err != nil || !slices.Equal(names, []string{"w", "global_step"}) {
		t.Errorf("uninitialized: %v, %v", names, err)
	}
	x := vector(t, 1, 2)
	var refused *cluster.Error
	if _, err := s.Run(ctx, cluster.Feeds{"x": x}, []string{"y"}); !errors.As(err, &refused) || refused.Code != codes.FailedPrecondition {
		t.Errorf("before initialization: %v", err)
	}
	if err := s.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Uninitialized(ctx); err != nil || len(names) > 0 {
		t.Errorf("uninitialized: %v, %v", names, err)
	}
	out, err := s.Run(ctx, cluster.Feeds{"x": x}, []string{"y", "x", "y:0"})
	if err != nil {
		t.Fatal(err)
	}
	floats(t, out[0], 4, 7)
	floats(t, out[1], 1, 2)
	floats(t, out[2], 4, 7)
	if _, err := s.Run(ctx, nil, nil, "train"); err != nil { // w -= 2w
		t.Fatal(err)
	}
	if out, err = s.Run(ctx, cluster.Feeds{"x:0": x}, []string{"y"}); err != nil {
		t.Fatal(err)
	}
	floats(t, out[0], -2, -5)
	values, err := s.Values(ctx)
	if err != nil || !slices.Equal(slices.Sorted(maps.Keys(values)), []string{"global_step", "w"}) {
		t.Fatalf("got %v, %v", values, err)
	}
	floats(t, values["w"], -3)
	if err := s.Assign(ctx, map[string]*tensor.Tensor{"w": tensor.Scalar(float32(10))}); err != nil {
		t.Fatal(err)
	}

	run, err := s.Callable(ctx, []string{"x"}, []string{"y", "y"}, "train")
	if err != nil {
		t.Fatal(err)
	}
	if out, err = run.Run(ctx, vector(t, 0)); err != nil || len(out) != 2 {
		t.Fatal(out, err)
	}
	floats(t, out[1], 1)
	if _, err := run.Run(ctx); err == nil {
		t.Error("a callable ran without its feed")
	}
	if err := run.Release(ctx); err != nil {
		t.Error(err)
	}
	if _, err := run.Run(ctx, x); err == nil {
		t.Error("a callable ran that was released")
	}
}

// TestErrors: what a session refuses, and what its server refuses.
func TestErrors(t *testing.T) {
	c := start(t, map[string]int{"worker": 1, "ps": 1})
	ctx := t.Context()
	s := dial(t, c.Target("worker", 0), line(t))
	x := vector(t, 1)
	for _, e := range []struct {
		name string
		err  func() error
		want string
	}{
		{"an unknown fetch", func() error { _, err := s.Run(ctx, nil, []string{"nobody"}); return err }, "NotFound: "},
		{"an unknown target", func() error { _, err := s.Run(ctx, nil, nil, "nobody"); return err }, "NotFound: "},
		{"a feed without a value", func() error { _, err := s.Run(ctx, cluster.Feeds{"x": nil}, nil); return err }, "got nil"},
		{"fed twice", func() error { _, err := s.Run(ctx, cluster.Feeds{"x": x, "x:0": x}, nil); return err }, "fed twice"},
		{"an unknown variable", func() error { _, err := s.Values(ctx, "nobody"); return err }, `"nobody" is not of`},
		{"a variable of another type", func() error { return s.Assign(ctx, map[string]*tensor.Tensor{"w": tensor.Scalar(1.0)}) }, "expected float32"},
		{"a variable of another shape", func() error { return s.Assign(ctx, map[string]*tensor.Tensor{"w": x}) }, "expected float32"},
		{"a variable that is nil", func() error { return s.Assign(ctx, map[string]*tensor.Tensor{"w": nil}) }, "expected float32"},
		{"a node that is there", func() error { return s.Extend(ctx, line(t)) }, "duplicate"},
		{"an extension that is nil", func() error { return s.Extend(ctx, nil) }, "got nil"},
		{"a target of another protocol", func() error { _, err := cluster.Dial(ctx, "localhost:1", nil); return err }, "grpc://host:port"},
		{"a filter that is none", func() error {
			_, err := cluster.Dial(ctx, c.Target("ps", 0), nil, cluster.DeviceFilters("moon"))
			return err
		}, "moon"},
	} {
		if err := e.err(); err == nil || !strings.Contains(err.Error(), e.want) || strings.Contains(err.Error(), "rpc error") {
			t.Errorf("%s: got %v, expected an error with %q", e.name, err, e.want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Run(ended, cluster.Feeds{"x": x}, []string{"x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a step whose context has ended: %v", err)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := s.Run(ctx, nil, []string{"y"}); err == nil {
		t.Error("a closed session ran a step")
	}
	for _, text := range []string{"\xff", "node { name: 3 }"} {
		if _, err := cluster.ReadGraph([]byte(text)); err == nil {
			t.Errorf("%q was read as a graph", text)
		}
		if _, err := cluster.ReadTextGraph([]byte(text)); err == nil {
			t.Errorf("%q was read as a graph", text)
		}
	}
}

// TestGraphs: a graph as bytes, as text, and as an extension of a session.
func TestGraphs(t *testing.T) {
	c := start(t, map[string]int{"worker": 1, "ps": 1})
	ctx := t.Context()
	def, err := line(t).GraphDef()
	if err != nil {
		t.Fatal(err)
	}
	g, err := cluster.ReadGraph(def)
	if err != nil {
		t.Fatal(err)
	}
	s := dial(t, c.Target("ps", 0), nil, cluster.SoftPlacement(), cluster.DeviceFilters("/job:worker"))
	if _, err := s.Run(ctx, nil, []string{"w/Read/ReadVariableOp"}); err == nil {
		t.Error("an empty graph gave a value")
	}
	if err := s.Extend(ctx, g); err != nil {
		t.Fatal(err)
	}
	more, err := cluster.ReadTextGraph([]byte(`versions { producer: 1882 } node { name: "two" op: "Const" device: "/device:GPU:0" attr { key: "dtype" value { type: DT_FLOAT } }
		attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 2 } } } }`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Extend(ctx, more); err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(ctx, cluster.Feeds{"w/Read/ReadVariableOp": tensor.Scalar(float32(5)), "x": vector(t, 1)}, []string{"y", "two"})
	if err != nil {
		t.Fatal(err)
	}
	floats(t, out[0], 6)
	floats(t, out[1], 2)
	if devices, err := s.Devices(ctx); err != nil || len(devices) != 2 || devices[0].Name != "/job:ps/replica:0/task:0/device:CPU:0" || devices[0].Type != "CPU" || devices[0].Incarnation == 0 {
		t.Errorf("devices: %v, %v", devices, err)
	}
}

// TestLostTask: a session ends with its parameter server; a new one continues with restored values.
func TestLostTask(t *testing.T) {
	c := start(t, map[string]int{"worker": 1, "ps": 1})
	ctx := t.Context()
	g := line(t)
	s := dial(t, c.Target("worker", 0), g)
	if err := s.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	saved, err := s.Values(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(ctx, nil, nil, "train"); err != nil {
		t.Fatal(err)
	}
	if err := c.StopTask("ps", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(ctx, nil, nil, "train"); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("while the parameter server is away: %v", err)
	}
	if err := c.StartTask("ps", 0); err != nil {
		t.Fatal(err)
	}
	for err = cluster.ErrLost; !strings.Contains(err.Error(), "restarted"); { // the restarted task has no variables and no graph
		if _, err = s.Run(ctx, nil, nil, "train"); !errors.Is(err, cluster.ErrLost) {
			t.Fatalf("after the restart: %v", err)
		}
	}
	again := dial(t, c.Target("worker", 0), g)
	if names, err := again.Uninitialized(ctx); err != nil || len(names) != 2 {
		t.Errorf("uninitialized: %v, %v", names, err)
	}
	if err := again.Assign(ctx, saved); err != nil {
		t.Fatal(err)
	}
	out, err := again.Run(ctx, cluster.Feeds{"x": vector(t, 1)}, []string{"y"})
	if err != nil {
		t.Fatal(err)
	}
	floats(t, out[0], 4)
}

// TestReset: variables and the sessions of the target are gone.
func TestReset(t *testing.T) {
	c := start(t, map[string]int{"worker": 1, "ps": 1})
	ctx := t.Context()
	s, other := dial(t, c.Target("worker", 0), line(t)), dial(t, c.Target("ps", 0), line(t))
	if err := s.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Reset(ctx, c.Target("worker", 0), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(ctx, nil, nil, "train"); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("after the reset: %v", err)
	}
	if names, err := other.Uninitialized(ctx); err != nil || len(names) != 2 {
		t.Errorf("uninitialized: %v, %v", names, err)
	}
	if err := cluster.Reset(ctx, "http://a", nil); err == nil {
		t.Error("a target of HTTP was reset")
	}
}
