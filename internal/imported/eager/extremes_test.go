package eager

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// TestExtremes: functions agree with TensorFlow 2.15 on grids of numbers of all magnitudes; for infinities, NaN and signs of zero exactly.
func TestExtremes(t *testing.T) {
	for _, c := range readCases[goldenSequence](t, "testdata/extremes.json.gz") {
		s := c.Steps[0]
		n := &graph.Node{Name: s.Node, Op: s.Op, Attrs: graph.Attrs{}}
		for name, a := range s.Attrs {
			n.Attrs[name] = a.value(t)
		}
		var in []Value
		for _, x := range s.Inputs {
			in = append(in, Value{T: x.Tensor.tensor()})
		}
		out, err := Run(context.Background(), n, in, &Env{})
		if c.Error != "" || err != nil {
			if (c.Error != "") != (err != nil) {
				t.Errorf("%s: got the error %v, expected %q", c.Name, err, c.Error)
			}
			continue
		}
		for k, want := range s.Outputs {
			if far := distant(s.Op, in, out[k].T, want.tensor()); len(far) > 0 {
				t.Errorf("%s, output %d: %d of %d differ:\n%s", c.Name, k, len(far), out[k].T.Len(), strings.Join(far[:min(len(far), 8)], "\n"))
			}
		}
	}
}

// unsigned marks ops whose zeros may differ in sign between TensorFlow's vector and scalar code: the sign depends on the index.
const unsigned = -1e-300

// cancelled has ops whose results are differences of much larger numbers, with the magnitude that rounding errors are relative to.
var cancelled = map[string]float64{"Digamma": 1, "BesselJ0": 1, "BesselJ1": 1, "BesselY0": 1, "BesselY1": 1, "FresnelCos": 1, "FresnelSin": 1, "Betainc": 1, "Igammac": 1e-4, "Elu": 1,
	"Maximum": unsigned, "Minimum": unsigned, "Xdivy": unsigned, "Xlogy": unsigned, "Xlog1py": unsigned, "RsqrtGrad": unsigned}

// distant describes the elements that differ from the expected ones.
func distant(op string, in []Value, got, want *tensor.Tensor) (all []string) {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return []string{fmt.Sprintf("got %v%v, expected %v%v", got.DType, got.Shape, want.DType, want.Shape)}
	}
	for i := range want.Len() {
		if w := parts(want, i); isComplex(in[0].T.DType) && (!finite(in, want.Shape, i) || w[0] != w[0] || w[1] != w[1]) {
			continue // TensorFlow's vector code differs from its scalar code there
		}
		if isComplex(want.DType) && op == "Pow" && infinite(parts(got, i)) && infinite(parts(want, i)) {
			continue // rounding decides the direction of a huge power
		}
		if g, w := parts(got, i), parts(want, i); !agree(want.DType, g[0], w[0], cancelled[op]) || !agree(want.DType, g[1], w[1], cancelled[op]) {
			all = append(all, fmt.Sprintf("of %s: got %v, expected %v", operands(in, want.Shape, i), g, w))
		}
	}
	return all
}

// infinite reports whether both parts of a number are infinite, with any sign.
func infinite(p [2]float64) bool { return math.IsInf(p[0], 0) && math.IsInf(p[1], 0) }

// parts returns the real and imaginary parts of an element.
func parts(t *tensor.Tensor, i int) [2]float64 {
	switch t.DType {
	case tensor.Complex64:
		v := tensor.Values[complex64](t)[i]
		return [2]float64{float64(real(v)), float64(imag(v))}
	case tensor.Complex128:
		v := tensor.Values[complex128](t)[i]
		return [2]float64{real(v), imag(v)}
	case tensor.Bool:
		return [2]float64{float64(t.Bytes[i])}
	}
	return [2]float64{t.Float(i)}
}

// agree reports whether a number is the expected one up to rounding. TensorFlow flushes subnormal numbers to zero.
func agree(d tensor.DType, got, want, size float64) bool {
	tolerance, least := 0.0, 0.0
	switch d {
	case tensor.Float16:
		tolerance, least = 0x1p-9, 0x1p-14
	case tensor.BFloat16:
		tolerance, least = 0x1p-6, 0x1p-125
	case tensor.Float32, tensor.Complex64:
		tolerance, least = 1e-5, 0x1p-125
	case tensor.Float64, tensor.Complex128:
		tolerance, least = 1e-9, 0x1p-1021
	}
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got)
	case d == tensor.Complex64 || d == tensor.Complex128:
		size = 1 // a part is compared relative to the other one
		if want == 0 && got == 0 {
			return true
		}
	case want == 0 && got == 0:
		return math.Signbit(got) == math.Signbit(want) || size < 0
	}
	return testkit.Near(got, want, tolerance*math.Abs(want)+tolerance*size/16+least)
}

// finite reports whether all inputs of element i are finite.
func finite(in []Value, shape []int, i int) bool {
	for _, v := range in {
		if p := parts(v.T, elementAt(v.T, shape, i)); p[0]-p[0] != 0 || p[1]-p[1] != 0 {
			return false
		}
	}
	return true
}

// elementAt returns the index of the operand's element that is broadcast to element i of a result.
func elementAt(t *tensor.Tensor, shape []int, i int) int {
	at, stride := 0, 1
	for k := len(shape) - 1; k >= 0; k-- {
		if d := len(t.Shape) - len(shape) + k; d >= 0 {
			if t.Shape[d] > 1 {
				at += i % shape[k] * stride
			}
			stride *= t.Shape[d]
		}
		i /= shape[k]
	}
	return at
}

// operands describes the input elements of element i.
func operands(in []Value, shape []int, i int) string {
	var all []string
	for _, v := range in {
		if elementAt(v.T, shape, i) >= v.T.Len() {
			return fmt.Sprint("element ", i) // the op is not elementwise
		}
		all = append(all, fmt.Sprint(parts(v.T, elementAt(v.T, shape, i))))
	}
	return strings.Join(all, ", ")
}
