package session_test

import (
	"context"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// load loads a golden SavedModel.
func load(t testing.TB, name string) *session.Session {
	t.Helper()
	m, err := session.Open(context.Background(), testkit.Shared(t, "golden/tensorflow-serving/"+name), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func floats(t testing.TB, data []float32, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(data, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// example is a serialized tf.Example of one float.
func example(t testing.TB, name string, v float32) []byte {
	t.Helper()
	type (
		feature = example_protos_go_proto.Feature
		list    = example_protos_go_proto.FloatList
	)
	data, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: map[string]*feature{
		name: {Kind: &example_protos_go_proto.Feature_FloatList{FloatList: &list{Value: []float32{v}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// call runs a signature and returns its outputs by alias.
func call(t testing.TB, m *session.Session, signature string, inputs map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	t.Helper()
	out, err := tryCall(m, signature, inputs)
	if err != nil {
		t.Fatalf("%s: %v", signature, err)
	}
	return out
}

func tryCall(m *session.Session, signature string, inputs map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	sig := m.Signatures()[signature]
	feeds := map[string]*tensor.Tensor{}
	for alias, info := range sig.GetInputs() {
		feeds[info.GetName()] = inputs[alias]
	}
	var aliases, names []string
	for alias, info := range sig.GetOutputs() {
		aliases, names = append(aliases, alias), append(names, info.GetName())
	}
	res, err := m.Run(context.Background(), feeds, names)
	if err != nil {
		return nil, err
	}
	out := map[string]*tensor.Tensor{}
	for i, a := range aliases {
		out[a] = res[i]
	}
	return out, nil
}

// near fails unless got equals want within 1e-6.
func near(t testing.TB, what string, got *tensor.Tensor, want ...float32) {
	t.Helper()
	g := tensor.Values[float32](got)
	if len(g) != len(want) {
		t.Fatalf("%s: got %v %v, expected %v", what, got.Shape, g, want)
	}
	for i := range g {
		if math.Abs(float64(g[i]-want[i])) > 1e-6*math.Max(1, math.Abs(float64(want[i]))) {
			t.Fatalf("%s: got %v, expected %v", what, g, want)
		}
	}
}

// TestGoldens compares with the results that TensorFlow Serving's own tests expect of its test models.
func TestGoldens(t *testing.T) {
	for _, dir := range []string{"saved_model_half_plus_two_cpu/00000123", "saved_model_half_plus_two_tf2_cpu/00000123", "saved_model_half_plus_two_2_versions/00000123"} {
		t.Run(dir, func(t *testing.T) {
			m := load(t, dir)
			for _, n := range []int{1, 3, 1, 2} {
				x, want := make([]float32, n), make([]float32, n)
				for i := range x {
					x[i], want[i] = float32(i+1), 0.5*float32(i+1)+2
				}
				near(t, "y", call(t, m, "serving_default", map[string]*tensor.Tensor{"x": floats(t, x, n, 1)})["y"], want...)
			}
			s, err := tensor.FromStrings([][]byte{example(t, "x", 4), example(t, "x", 6)}, 2)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "regress", call(t, m, "regress_x_to_y", map[string]*tensor.Tensor{"inputs": s})["outputs"], 4, 5)
			near(t, "regress y2", call(t, m, "regress_x_to_y2", map[string]*tensor.Tensor{"inputs": s})["outputs"], 5, 6)
			near(t, "classify", call(t, m, "classify_x_to_y", map[string]*tensor.Tensor{"inputs": s})["scores"], 4, 5)
		})
	}
	t.Run("half plus three", func(t *testing.T) {
		m := load(t, "saved_model_half_plus_three/00000123")
		near(t, "y", call(t, m, "serving_default", map[string]*tensor.Tensor{"x": floats(t, []float32{1, 2, 5}, 3)})["y"], 3.5, 4, 5.5)
	})
	t.Run("matrix", func(t *testing.T) {
		m := load(t, "matrix_half_plus_two/1")
		x, want := make([]float32, 18), make([]float32, 18)
		for i := range x {
			x[i], want[i] = float32(i), float32(i)/2+2
		}
		near(t, "y", call(t, m, "serving_default", map[string]*tensor.Tensor{"x": floats(t, x, 2, 3, 3)})["y"], want...)
	})
}

// TestCounter: signatures that update a variable.
func TestCounter(t *testing.T) {
	m := load(t, "saved_model_counter/00000123")
	near(t, "get", call(t, m, "get_counter", nil)["output"], 0)
	near(t, "incr", call(t, m, "incr_counter", nil)["output"], 1)
	near(t, "incr", call(t, m, "incr_counter", nil)["output"], 2)
	near(t, "incr by", call(t, m, "incr_counter_by", map[string]*tensor.Tensor{"delta": floats(t, []float32{3.5})})["output"], 5.5)
	near(t, "get", call(t, m, "get_counter", nil)["output"], 5.5)
	near(t, "reset", call(t, m, "reset_counter", nil)["output"], 0)
	near(t, "get", call(t, m, "get_counter", nil)["output"], 0)
}
