package cluster_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/proto"
)

// devicesOf maps the nodes of a graph to their devices.
func devicesOf(t *testing.T, g *cluster.Graph) map[string]string {
	t.Helper()
	text, err := g.GraphDef()
	if err != nil {
		t.Fatal(err)
	}
	def := &graph_go_proto.GraphDef{}
	if err := proto.Unmarshal(text, def); err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, n := range def.GetNode() {
		at[n.GetName()] = n.GetDevice()
	}
	return at
}

func zeros(b *cluster.Builder, name string, shape ...int) {
	b.Variable(name, shape, models.WithInit(initializers.Zeros()))
}

// The rules are from TensorFlow's device_setter_test and from nested tf.device.
func TestPlacement(t *testing.T) {
	setter := func() cluster.Placement { return &cluster.ReplicaDeviceSetter{PSTasks: 2} }
	greedy := &cluster.ReplicaDeviceSetter{PSTasks: 2, Strategy: &cluster.GreedyLoadBalancing{}}
	for _, c := range []struct {
		name  string
		build func(b *cluster.Builder)
		want  map[string]string
	}{
		{"no scope", func(b *cluster.Builder) { zeros(b, "v", 1) }, map[string]string{"v": ""}},
		{"inner wins part by part", func(b *cluster.Builder) {
			b.Device(cluster.On("/job:a/task:1/device:CPU:0"), func() {
				b.Device(cluster.On("/job:b"), func() { zeros(b, "v", 1) })
				zeros(b, "w", 1)
			})
			zeros(b, "x", 1)
		}, map[string]string{"v": "/job:b/task:1/device:CPU:0", "w": "/job:a/task:1/device:CPU:0", "x": ""}},
		{"round robin", func(b *cluster.Builder) {
			b.Device(setter(), func() {
				zeros(b, "v", 1)
				zeros(b, "w", 1)
				zeros(b, "x", 1)
				b.Fetch("y", ops.Tanh(b, b.Input("in", tensor.Float32, 2)))
			})
		}, map[string]string{"v": "/job:ps/task:0", "w": "/job:ps/task:1", "x": "/job:ps/task:0", "in": "/job:worker", "y": "/job:worker"}},
		{"pinned to another job", func(b *cluster.Builder) {
			b.Device(setter(), func() {
				b.Device(cluster.On("/job:moon"), func() { zeros(b, "v", 1) })
				b.Device(cluster.On("/job:ps"), func() { zeros(b, "w", 1) })
				b.Device(cluster.On("/task:7"), func() { zeros(b, "x", 1) })
				zeros(b, "z", 1)
			})
		}, map[string]string{"v": "/job:moon", "w": "/job:ps/task:0", "x": "/job:ps/task:7", "z": "/job:ps/task:0"}},
		{"a worker with a task", func(b *cluster.Builder) {
			b.Device(&cluster.ReplicaDeviceSetter{PSTasks: 1, Worker: "/job:worker/task:3/gpu:0"}, func() {
				zeros(b, "v", 1)
				b.Fetch("y", ops.Tanh(b, b.Input("in", tensor.Float32, 2)))
			})
		}, map[string]string{"v": "/job:ps/task:0", "y": "/job:worker/task:3/device:GPU:0"}},
		{"no parameter servers", func(b *cluster.Builder) {
			b.Device(&cluster.ReplicaDeviceSetter{}, func() { zeros(b, "v", 1) })
		}, map[string]string{"v": ""}},
		{"greedy", func(b *cluster.Builder) {
			b.Device(greedy, func() {
				zeros(b, "v", 10)
				zeros(b, "w", 3)
				zeros(b, "x", 3)
				zeros(b, "y", 4)
				zeros(b, "z", 1)
			})
		}, map[string]string{"v": "/job:ps/task:0", "w": "/job:ps/task:1", "x": "/job:ps/task:1", "y": "/job:ps/task:1", "z": "/job:ps/task:0"}},
		{"slots and what reads a variable are where it is", func(b *cluster.Builder) {
			b.Device(setter(), func() {
				v := b.Variable("v", []int{2}, models.WithInit(initializers.Zeros()))
				b.Train("train", optimizers.Adam(0.1).Minimize(b, ops.Sum(b, ops.Square(b, v))))
			})
		}, map[string]string{"v": "/job:ps/task:0", "v/Adam": "", "v/Read/ReadVariableOp": "", "global_step": "/job:ps/task:1", "beta1_power": "/job:ps/task:0"}},
	} {
		g, err := cluster.Build(cluster.Options{}, func(b *cluster.Builder) error {
			c.build(b)
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := devicesOf(t, g)
		for _, name := range slices.Sorted(maps.Keys(c.want)) {
			if at, ok := got[name]; !ok || at != c.want[name] {
				t.Errorf("%s: %s is at %q (%v): expected %q", c.name, name, at, ok, c.want[name])
			}
		}
	}
}

// choosing is a LoadBalancer that chooses one task.
type choosing int

func (c choosing) Next(cluster.Op, int) (int, error) { return int(c), nil }

func TestBuildRefuses(t *testing.T) {
	variable := func(where cluster.Placement) func(b *cluster.Builder) {
		return func(b *cluster.Builder) { b.Device(where, func() { zeros(b, "v", 1) }) }
	}
	for _, c := range []struct {
		name  string
		build func(b *cluster.Builder)
		want  string
	}{
		{"a device that is none", variable(cluster.On("ps0")), `device "ps0"`},
		{"an unknown part", variable(cluster.On("/planet:1")), "unknown attribute"},
		{"no placement", variable(nil), "expected a placement"},
		{"a negative number of parameter servers", variable(&cluster.ReplicaDeviceSetter{PSTasks: -1}), "expected 0 or more"},
		{"a task that is none", variable(&cluster.ReplicaDeviceSetter{PSTasks: 2, Strategy: choosing(2)}), "expected one of 2"},
		{"a negative task", variable(&cluster.ReplicaDeviceSetter{PSTasks: 2, Strategy: choosing(-1)}), "expected one of 2"},
		{"a negative load", variable(&cluster.ReplicaDeviceSetter{PSTasks: 2, Strategy: &cluster.GreedyLoadBalancing{Load: func(cluster.Op) (float64, error) { return -1, nil }}}), "at least 0"},
		{"strings have no size", variable(&cluster.ReplicaDeviceSetter{PSTasks: 2, Strategy: &cluster.GreedyLoadBalancing{Load: func(op cluster.Op) (float64, error) {
			op.DType = tensor.String
			return cluster.ByteSize(op)
		}}}), "no fixed size"},
		{"a name that is taken", func(b *cluster.Builder) {
			x := b.Input("x", tensor.Float32, 1)
			b.Fetch("x", x)
		}, "the name is that of a Placeholder"},
		{"nothing to fetch", func(b *cluster.Builder) { b.Fetch("x", nil) }, "expected a node"},
		{"averages of weights", func(b *cluster.Builder) {
			v := b.Variable("w", []int{2})
			b.Train("train", optimizers.SGD(1, optimizers.WithEMA(0.5)).Minimize(b, ops.Sum(b, ops.Square(b, v))))
		}, "averages of weights in a session's graph"},
		{"nothing to train", func(b *cluster.Builder) { b.Train("x", nil) }, "what Minimize returned"},
		{"two updates of a variable", func(b *cluster.Builder) {
			loss := ops.Sum(b, b.Variable("v", []int{1}))
			b.Train("a", optimizers.SGD(1).Minimize(b, loss))
			b.Train("b", &optimizers.TrainOp{})
		}, `the update "a": expected one`},
	} {
		_, err := cluster.Build(cluster.Options{}, func(b *cluster.Builder) error {
			c.build(b)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected an error with %q", c.name, err, c.want)
		}
	}
	if _, err := cluster.Build(cluster.Options{}, func(*cluster.Builder) error { panic("no") }); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("a panic gave %v", err)
	}
	if _, err := cluster.Build(cluster.Options{}, func(*cluster.Builder) error { return fmt.Errorf("own") }); err == nil || !strings.Contains(err.Error(), "own") {
		t.Errorf("an error gave %v", err)
	}
}
