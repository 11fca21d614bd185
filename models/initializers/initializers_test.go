package initializers

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func filled(t testing.TB, i Initializer, d tensor.DType, key uint64, shape ...int) *tensor.Tensor {
	t.Helper()
	x := tensor.New(d, shape...)
	if err := i.Init(x, key); err != nil {
		t.Fatal(err)
	}
	return x
}

func moments(x *tensor.Tensor) (mean, variance float64) {
	n := float64(x.Len())
	for i := range x.Len() {
		mean += x.Float(i) / n
	}
	for i := range x.Len() {
		d := x.Float(i) - mean
		variance += d * d / n
	}
	return mean, variance
}

// TestMoments checks mean, variance and bounds against TensorFlow's definitions.
func TestMoments(t *testing.T) {
	const in, out = 300, 200
	inf := math.Inf(1)
	for _, c := range []struct {
		name           string
		params         map[string]any
		mean, variance float64
		bound          float64 // largest distance from the mean
	}{
		{"random_uniform", map[string]any{"min": -1, "max": 3}, 1, 16.0 / 12, 2},
		{"random_uniform", nil, 0, 0.01 / 12, 0.05},
		{"random_normal", map[string]any{"mean": 2, "stddev": 0.5}, 2, 0.25, inf},
		{"random_normal", nil, 0, 0.0025, inf},
		{"truncated_normal", map[string]any{"mean": 1, "stddev": 2}, 1, 4 * truncatedStddev * truncatedStddev, 4},
		{"glorot_uniform", nil, 0, 2.0 / (in + out), math.Sqrt(6.0 / (in + out))},
		{"glorot_normal", nil, 0, 2.0 / (in + out), 2 / truncatedStddev * math.Sqrt(2.0/(in+out))},
		{"he_uniform", nil, 0, 2.0 / in, math.Sqrt(6.0 / in)},
		{"he_normal", nil, 0, 2.0 / in, 2 / truncatedStddev * math.Sqrt(2.0/in)},
		{"lecun_uniform", nil, 0, 1.0 / in, math.Sqrt(3.0 / in)},
		{"lecun_normal", nil, 0, 1.0 / in, 2 / truncatedStddev * math.Sqrt(1.0/in)},
		{"variance_scaling", map[string]any{"scale": 3, "mode": "fan_out", "distribution": "untruncated_normal"}, 0, 3.0 / out, inf},
	} {
		i, err := New(c.name, c.params)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
			x := filled(t, i, d, 42, in, out)
			mean, variance := moments(x)
			if sd := math.Sqrt(c.variance); math.Abs(mean-c.mean) > 4*sd/math.Sqrt(in*out) {
				t.Errorf("%s %v: mean %g, want %g", c.name, d, mean, c.mean)
			}
			if math.Abs(variance/c.variance-1) > 0.03 {
				t.Errorf("%s %v: variance %g, want %g", c.name, d, variance, c.variance)
			}
			for k := range x.Len() {
				if math.Abs(x.Float(k)-c.mean) > c.bound*(1+1e-6) {
					t.Fatalf("%s %v: value %g out of bounds", c.name, d, x.Float(k))
				}
			}
		}
	}
}

// TestKeys checks that values depend only on the key: equal keys give equal values, others different ones.
func TestKeys(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom([]string{"random_uniform", "random_normal", "truncated_normal", "glorot_uniform", "he_normal", "orthogonal"}).Draw(r, "name")
		a, b := rapid.Uint64().Draw(r, "a"), rapid.Uint64().Draw(r, "b")
		d := rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float64}).Draw(r, "type")
		i, err := New(name, nil)
		if err != nil {
			r.Fatal(err)
		}
		x, y, z := filled(t, i, d, a, 5, 4), filled(t, i, d, a, 5, 4), filled(t, i, d, b, 5, 4)
		if !bytes.Equal(x.Bytes, y.Bytes) {
			r.Fatal("one key, different values")
		}
		if a != b && bytes.Equal(x.Bytes, z.Bytes) {
			r.Fatal("different keys, one value")
		}
	})
}

func TestConstants(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64, tensor.Uint8} {
		for _, i := range []Constant{Zeros(), Ones(), {7}} {
			x := filled(t, i, d, 0, 3)
			for k := range 3 {
				if x.Float(k) != i.Value {
					t.Errorf("%v: got %g, want %g", d, x.Float(k), i.Value)
				}
			}
		}
	}
	got := tensor.Values[float32](filled(t, Identity{2}, tensor.Float32, 0, 2, 3))
	if d := cmp.Diff([]float32{2, 0, 0, 0, 2, 0}, got); d != "" {
		t.Error(d)
	}
}

// TestOrthogonal checks that the product of the shorter side with itself is the identity times gain squared.
func TestOrthogonal(t *testing.T) {
	const gain = 1.5
	for _, shape := range [][]int{{6, 4}, {4, 6}, {3, 3, 2, 5}, {1, 7}} {
		x := filled(t, Orthogonal{gain}, tensor.Float64, 3, shape...)
		cols := shape[len(shape)-1]
		rows := x.Len() / cols
		at := func(i, k int) float64 { return x.Float(k*cols + i) } // column i
		n, size := cols, rows
		if rows < cols {
			at = func(i, k int) float64 { return x.Float(i*cols + k) }
			n, size = rows, cols
		}
		for i := range n {
			for j := range n {
				var dot, want float64
				for k := range size {
					dot += at(i, k) * at(j, k)
				}
				if i == j {
					want = gain * gain
				}
				if math.Abs(dot-want) > 1e-12 {
					t.Errorf("%v: %d·%d is %g, want %g", shape, i, j, dot, want)
				}
			}
		}
	}
}

func TestFans(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		in, out float64
	}{{nil, 1, 1}, {[]int{5}, 5, 5}, {[]int{3, 4}, 3, 4}, {[]int{3, 5, 8, 16}, 120, 240}} {
		if in, out := Fans(c.shape); in != c.in || out != c.out {
			t.Errorf("Fans(%v): got %g, %g, want %g, %g", c.shape, in, out, c.in, c.out)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]any
		want   string
	}{
		{"glorot", nil, `unknown initializer "glorot": expected one of constant, glorot_normal, glorot_uniform, he_normal`},
		{"zeros", map[string]any{"value": 1}, "initializer zeros: unknown parameter value: it takes none"},
		{"random_normal", map[string]any{"std": 1}, "unknown parameter std: known are mean, stddev"},
		{"variance_scaling", map[string]any{"mode": "fan"}, `mode "fan": expected fan_in, fan_out or fan_avg`},
		{"variance_scaling", map[string]any{"scale": 0}, "scale 0: expected > 0"},
		{"variance_scaling", map[string]any{"distribution": "beta"}, `distribution "beta": expected truncated_normal`},
	} {
		if _, err := New(c.name, c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%s, %v): got %v, want %q", c.name, c.params, err, c.want)
		}
	}
	for _, c := range []struct {
		i    Initializer
		d    tensor.DType
		want string
	}{
		{GlorotUniform(), tensor.Int32, "type int32: expected float32 or float64"},
		{Zeros(), tensor.Bool, "type bool: expected float32"},
		{Orthogonal{1}, tensor.Float32, "expected rank 2 or more"},
		{Identity{1}, tensor.Float32, "expected a matrix"},
		{RandomUniform{2, 1}, tensor.Float32, "min 2, max 1: expected min <= max"},
	} {
		if err := c.i.Init(tensor.New(c.d, 3), 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T of %v: got %v, want %q", c.i, c.d, err, c.want)
		}
	}
}
