package eager

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestIsotonicRegression: values and pools of TensorFlow 2.15, also for equal neighbors and NaN.
func TestIsotonicRegression(t *testing.T) {
	s, nan := newSession(t), float32(math.NaN())
	for _, c := range []struct {
		x            []float32
		want, number string
	}{
		{[]float32{1, 1, 0, 0, 2}, "1 1 0.6666666865348816 0.6666666865348816 0.6666666865348816", "0 1 2 2 2"},
		{[]float32{2, 2, 1, 1}, "2 2 1 1", "0 1 2 3"},
		{[]float32{1, 3, 2, 2.5, 0}, "2.125 2.125 2.125 2.125 0", "0 0 0 0 1"},
		{[]float32{nan, 1, 2, 3}, "NaN 2 2 2", "0 1 1 1"},
		{[]float32{3, 1, nan, 5}, "3 1 NaN 5", "0 1 2 3"},
	} {
		out, err := s.try("IsotonicRegression", nil, tensorOf(c.x, 1, len(c.x)))
		if err != nil {
			t.Fatal(err)
		}
		s.expect(out[0], fmt.Sprintf("float32[1 %d] %s", len(c.x), c.want))
		s.expect(out[1], fmt.Sprintf("int32[1 %d] %s", len(c.x), c.number))
	}
}

// TestImageBlocks: image blocks whose size is an attribute.
func TestImageBlocks(t *testing.T) {
	s, two := newSession(t), graph.Attrs{"block_size": int64(2)}
	x := make([]float32, 16)
	for i := range x {
		x[i] = float32(i)
	}
	y := s.run("BatchToSpace", two, tensorOf(x, 4, 2, 2, 1), tensorOf([]int32{0, 1, 0, 0}, 2, 2))
	s.expect(y, "float32[1 3 4 1] 0 4 1 5 8 12 9 13 2 6 3 7")
	s.expect(s.run("SpaceToBatch", two, y, tensorOf([]int32{0, 1, 0, 0}, 2, 2)), "float32[4 2 2 1] 0 1 2 3 4 5 6 7 8 9 0 0 12 13 0 0")
	s.refuse("block_size should be > 1", "SpaceToBatch", graph.Attrs{"block_size": int64(1)}, y, tensorOf([]int32{0, 0, 0, 0}, 2, 2))
	s.refuse("rank should be: 4", "BatchToSpace", two, tensorOf(x, 4, 4), tensorOf([]int32{0, 0, 0, 0}, 2, 2))
}

// TestAsStringOfComplex: complex numbers have TensorFlow 2.15's texts.
func TestAsStringOfComplex(t *testing.T) {
	s, x := newSession(t), tensorOf([]complex64{1.5 - 2i, complex(float32(math.NaN()), 1e10)}, 2)
	s.expect(s.run("AsString", nil, x), `string[2] "(1.500000,-2.000000)" "(nan,10000000000.000000)"`)
	s.expect(s.run("AsString", graph.Attrs{"width": int64(9), "fill": []byte("0"), "precision": int64(1)}, x), `string[2] "(0000001.5,-000002.0)" "(      nan,10000000000.0)"`)
}

// TestWiderScatter: sums of small integers and of complex numbers by index, and the maxima of slices of a variable.
func TestWiderScatter(t *testing.T) {
	s, at := newSession(t), tensorOf([]int32{1, 1, 0}, 3, 1)
	s.expect(s.run("ScatterNd", nil, at, tensorOf([]uint8{200, 100, 7}, 3), tensorOf([]int32{3}, 1)), "uint8[3] 7 44 0")
	sums := s.run("ScatterNd", nil, at, tensorOf([]complex64{1, 2i, 3}, 3), tensorOf([]int32{2}, 1))
	if got := tensor.Values[complex64](sums.T); !slices.Equal(got, []complex64{3, 1 + 2i}) {
		t.Errorf("got %v, expected 3 and 1+2i", got)
	}
	most := s.run("TensorScatterMax", nil, tensorOf([]uint64{1 << 63, 1}, 2), at, tensorOf([]uint64{2, 1<<63 + 5, 9}, 3))
	if got := tensor.Values[uint64](most.T); !slices.Equal(got, []uint64{1 << 63, 1<<63 + 5}) {
		t.Errorf("got %v, expected 2^63 and 2^63 + 5", got)
	}
	s.expect(s.run("TensorScatterSub", nil, tensorOf([]int8{-128, 1}, 2), at, tensorOf([]int8{2, 1, 1}, 3)), "int8[2] 127 -2")
	v := s.run("VarHandleOp", graph.Attrs{"dtype": tensor.Float32, "shared_name": "v"})
	s.run("AssignVariableOp", nil, v, tensorOf([]float32{1, 2, 3}, 3))
	s.run("ResourceScatterNdMax", nil, v, at, tensorOf([]float32{5, 4, -1}, 3))
	s.run("ResourceScatterNdMin", nil, v, tensorOf([]int32{2}, 1, 1), tensorOf([]float32{-7}, 1))
	s.expect(s.run("ReadVariableOp", graph.Attrs{"dtype": tensor.Float32}, v), "float32[3] 1 5 -7")
}

// TestNumbersOfTexts: which texts TensorFlow 2.15 accepts as numbers.
func TestNumbersOfTexts(t *testing.T) {
	s := newSession(t)
	taken := []string{"-nan", "+NaN", "-INF", "0x10", "-0x1F", " +0x10 ", "0x1ffffff", "1E+3", "5.", "+.5", "-1e400", "1e-400", "  "}
	s.expect(s.run("StringToNumber", nil, taken), "float32[13] NaN NaN -Inf 16 -31 16 3.3554432e+07 1000 5 0.5 -Inf 0 0")
	for _, text := range []string{"", "infinity", "-Infinity", "0X1p3", "0x1.8", "0x", "0x1g", "0x-1", "1_000", "-", "--1", "+-1", "1e", "nan(12)", "1 2", "0b1"} {
		s.refuse("could not correctly convert", "StringToNumber", nil, text)
	}
	ints := graph.Attrs{"out_type": tensor.Int32}
	s.expect(s.run("StringToNumber", ints, []string{"-5", " 05 ", "-2147483648"}), "int32[3] -5 5 -2.147483648e+09")
	for _, text := range []string{"+5", "0x5", "5.0", "", " ", "2147483648"} {
		s.refuse("could not correctly convert", "StringToNumber", ints, text)
	}
}
