package functionalize_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// TensorFlow 2.15 saved the files in testdata with control flow of version 1: x is [2], n a number. The graphs are
// functions of interop/python/v1_control.py, which has more of them.
var goldens = map[string]func(x float64, n int) map[string]float64{
	"nested": func(x float64, n int) map[string]float64 {
		total := 0.0
		for i := range n {
			for j := 0; j <= i; j++ {
				total += x * float64(j)
			}
		}
		return map[string]float64{"y": total, "i": float64(n)}
	},
	"mixed": func(x float64, n int) map[string]float64 {
		if n <= 1 {
			return map[string]float64{"y": -x}
		}
		y := x
		for i := range n {
			if i%2 == 0 {
				y += x
			} else {
				y *= float64(i)
			}
		}
		return map[string]float64{"y": y}
	},
	"cases": func(x float64, n int) map[string]float64 {
		switch {
		case n == 0:
			return map[string]float64{"y": x}
		case n == 2:
			return map[string]float64{"y": 2 * x}
		case n > 3:
			return map[string]float64{"y": 4 * x}
		}
		return map[string]float64{"y": 100 * x}
	},
	"branches": func(x float64, n int) map[string]float64 {
		sign := -1.0
		if x > 0 {
			sign = 1
		}
		if n > 2 {
			return map[string]float64{"a": x + 1, "b": 7, "c": sign}
		}
		return map[string]float64{"a": 0, "b": float64(2 * n), "c": sign}
	},
	"arrays": func(x float64, n int) map[string]float64 { return map[string]float64{"y": x * float64(n)} },
	"joined": func(x float64, n int) map[string]float64 { return map[string]float64{"y": x * float64(n*(n+1)/2)} },
	"searching": func(x float64, n int) map[string]float64 {
		i, found := 0, false
		for i < 20 && !found {
			found = i > n || x > 40
			i, x = i+1, x*1.5
		}
		is := 0.0
		if found {
			is = 1
		}
		return map[string]float64{"i": float64(i), "y": x, "found": is}
	},
}

func open(t *testing.T, name string) (*session.Session, error) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".pb"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, savedmodel.BinaryFile), data, 0o666); err != nil {
		t.Fatal(err)
	}
	return session.Open(t.Context(), dir, session.Options{})
}

// TestGoldens runs loops and conditions, side by side and nested.
func TestGoldens(t *testing.T) {
	for name, want := range goldens {
		t.Run(name, func(t *testing.T) {
			s, err := open(t, name)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, x := range []float32{1.5, -2} {
				for _, n := range []int32{0, 1, 2, 3, 5} {
					compare(t, s, x, n, want(float64(x), int(n)))
				}
			}
		})
	}
}

func compare(t *testing.T, s *session.Session, x float32, n int32, want map[string]float64) {
	t.Helper()
	sig := s.Signatures()[savedmodel.DefaultSignature]
	pair, err := tensor.FromSlice([]float32{x, x}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	feeds := map[string]*tensor.Tensor{sig.GetInputs()["x"].GetName(): pair, sig.GetInputs()["n"].GetName(): tensor.Scalar(n)}
	for key, w := range want {
		got, err := s.Run(context.Background(), feeds, []string{sig.GetOutputs()[key].GetName()})
		if err != nil {
			t.Fatalf("%s of x %v, n %d: %v", key, x, n, err)
		}
		value := 0.0
		switch g := got[0]; g.DType {
		case tensor.Bool:
			if tensor.Values[bool](g)[0] {
				value = 1
			}
		default:
			value = g.Float(g.Len() - 1)
		}
		if !testkit.Near(value, w, 1e-5*max(1, math.Abs(w))) {
			t.Errorf("%s of x %v, n %d is %v, expected %v", key, x, n, value, w)
		}
	}
}
