package eager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestBandedTriangularSolve: solutions of TensorFlow 2.15.
func TestBandedTriangularSolve(t *testing.T) {
	s, rhs := newSession(t), tensorOf([]float32{2, 6, 3}, 3, 1)
	lower, upper := tensorOf([]float32{2, 4, 5, 0, 1, -1}, 2, 3), tensorOf([]float32{0, 1, -1, 2, 4, 5}, 2, 3)
	s.expect(s.run("BandedTriangularSolve", nil, lower, rhs), "float32[3 1] 1 1.25 0.8500000238418579")
	s.expect(s.run("BandedTriangularSolve", graph.Attrs{"adjoint": true}, lower, rhs), "float32[3 1] 0.17500001192092896 1.649999976158142 0.6000000238418579")
	s.expect(s.run("BandedTriangularSolve", graph.Attrs{"lower": false}, upper, rhs), "float32[3 1] 1 1.350000023841858 0.6000000238418579")
	s.expect(s.run("BandedTriangularSolve", graph.Attrs{"lower": false, "adjoint": true}, upper, rhs), "float32[3 1] 1 1.5 0.30000001192092896")
	s.refuse("not invertible", "BandedTriangularSolve", nil, tensorOf([]float32{2, 0, 5}, 1, 3), rhs)
	s.refuse("expected [..., bands, n]", "BandedTriangularSolve", nil, rhs, rhs)
}

// TestFractionalPools: windows and values of TensorFlow 2.15. NaN is never a maximum.
func TestFractionalPools(t *testing.T) {
	s := newSession(t)
	x := make([]float32, 35)
	for i := range x {
		x[i] = float32(i)
	}
	attrs := graph.Attrs{"pooling_ratio": []float32{1, 1.5, 1.6, 1}, "pseudo_random": true, "overlapping": true, "deterministic": true, "seed": int64(5), "seed2": int64(7)}
	image := tensorOf(x, 1, 5, 7, 1)
	out, err := s.try("FractionalMaxPool", attrs, image)
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[0], "float32[1 3 4 1] 16 18 20 20 30 32 34 34 30 32 34 34")
	s.expect(out[1], "int64[4] 0 2 4 5")
	s.expect(out[2], "int64[5] 0 2 4 6 7")
	attrs["pseudo_random"], attrs["overlapping"] = false, false
	if out, err = s.try("FractionalAvgPool", attrs, image); err != nil {
		t.Fatal(err)
	}
	s.expect(out[0], "float32[1 3 4 1] 3.5 5 7 9 14 15.5 17.5 19.5 24.5 26 28 30")
	s.expect(out[1], "int64[4] 0 2 3 5")
	s.expect(out[2], "int64[5] 0 1 3 5 7")
	x[0] = float32(math.NaN())
	if out, err = s.try("FractionalMaxPool", attrs, tensorOf(x, 1, 5, 7, 1)); err != nil || math.IsNaN(out[0].T.Float(0)) {
		t.Errorf("got %v, %v: expected 7", out, err)
	}
	s.refuse("Pooling ratio is higher", "FractionalMaxPool", attrs, tensorOf(x[:1], 1, 1, 1, 1))
}

// TestSampleDistortedBoundingBox: the same parts of images as in TensorFlow 2.15.
func TestSampleDistortedBoundingBox(t *testing.T) {
	s := newSession(t)
	size, boxes, covered := tensorOf([]int32{40, 50, 3}, 3), tensorOf([]float32{.1, .1, .8, .8}, 1, 1, 4), tensor.Scalar(float32(.3))
	for seed, want := range [][2]string{{"int32[3] 12 3 0", "int32[3] 26 32 -1"}, {"int32[3] 1 5 0", "int32[3] 32 38 -1"}, {"int32[3] 3 12 0", "int32[3] 28 33 -1"}} {
		out, err := s.try("StatelessSampleDistortedBoundingBox", nil, size, boxes, covered, tensorOf([]int32{int32(seed + 1), 2}, 2))
		if err != nil {
			t.Fatal(err)
		}
		s.expect(out[0], want[0])
		s.expect(out[1], want[1])
	}
	none := tensorOf([]float32{}, 1, 0, 4)
	s.refuse("No bounding boxes", "SampleDistortedBoundingBox", nil, size, none)
	out, err := s.try("SampleDistortedBoundingBox", graph.Attrs{"use_image_if_no_bounding_boxes": true, "max_attempts": int64(0)}, size, none)
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[2], "float32[1 1 4] 0 0 1 1") // no attempts: the whole image
	s.refuse("must be in [0.0, 1.0]", "SampleDistortedBoundingBoxV2", nil, size, tensorOf([]float32{0, 0, 2, float32(math.NaN())}, 1, 1, 4), covered)
}

// TestProductsOfBytes: 8-bit operands are converted to the result's type before they are multiplied.
func TestProductsOfBytes(t *testing.T) {
	s := newSession(t)
	s.expect(s.run("BatchMatMulV3", graph.Attrs{"Tout": tensor.Int32}, tensorOf([]int8{100, -128}, 1, 2), tensorOf([]int8{100, -128}, 2, 1)), "int32[1 1] 26384")
}

// TestComplexSegments: sums, products and means of TensorFlow 2.15.
func TestComplexSegments(t *testing.T) {
	s, x := newSession(t), tensorOf([]complex64{1 + 2i, 3 - 1i, 2i}, 3)
	for _, c := range []struct {
		op   string
		ids  []int32
		want []complex64
	}{
		{"UnsortedSegmentSum", []int32{2, 0, 2}, []complex64{3 - 1i, 0, 1 + 4i}}, {"UnsortedSegmentProd", []int32{2, 0, 2}, []complex64{3 - 1i, 1, -4 + 2i}},
		{"SegmentMean", []int32{0, 0, 2}, []complex64{2 + .5i, 0, 2i}},
	} {
		in := []any{x, tensorOf(c.ids, 3)}
		if c.op != "SegmentMean" {
			in = append(in, int32(3))
		}
		if got := tensor.Values[complex64](s.run(c.op, nil, in...).T); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, expected %v", c.op, got, c.want)
		}
	}
}

// TestMaxPoolOfIntegers: values of TensorFlow 2.15.
func TestMaxPoolOfIntegers(t *testing.T) {
	s := newSession(t)
	attrs := graph.Attrs{"ksize": []int64{1, 2, 2, 1}, "strides": []int64{1, 1, 1, 1}, "padding": []byte("SAME")}
	s.expect(s.run("MaxPool", attrs, tensorOf([]int32{-5, -3, 2, -9, -7, 4}, 1, 2, 3, 1)), "int32[1 2 3 1] -3 4 4 -7 4 4")
}

// TestBoxesThatAreNotFinite: TensorFlow 2.15's selection among boxes with NaN, infinities and infinite areas.
func TestBoxesThatAreNotFinite(t *testing.T) {
	s, nan, inf := newSession(t), float32(math.NaN()), float32(math.Inf(1))
	boxes := []float32{0, 0, 1, 1, 0, 0, nan, 1, -1e30, -1e30, 1e30, 1e30, 0, 0, inf, inf, 0, 0, 1, 1}
	scores, most, half, low := []float32{.9, .95, .6, .5, .8}, int32(5), float32(.5), float32(-1)
	out, err := s.try("NonMaxSuppressionV5", nil, tensorOf(boxes, 5, 4), tensorOf(scores, 5), most, half, low, float32(0))
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[0], "int32[4] 1 0 2 3")
	s.expect(out[1], "float32[4] 0.949999988079071 0.8999999761581421 0.6000000238418579 0")
	out, err = s.try("CombinedNonMaxSuppression", nil, tensorOf(boxes, 1, 5, 1, 4), tensorOf(scores, 1, 5, 1), most, most, half, low)
	if err != nil {
		t.Fatal(err)
	}
	s.expect(out[1], "float32[1 5] 0.949999988079071 0.8999999761581421 0.6000000238418579 0.5 0")
}

// TestExtremesOfScatters: as in TensorFlow 2.15, an element stays if it or the update is NaN, or if both are zeros.
func TestExtremesOfScatters(t *testing.T) {
	s, nan, zero := newSession(t), float32(math.NaN()), float32(math.Copysign(0, -1))
	x, places := tensorOf([]float32{0, nan, 0, zero, 5}, 5), tensorOf([]int32{0, 1, 2, 3, 4, 4, 4}, 7, 1)
	for op, last := range map[string]string{"TensorScatterMax": "7", "TensorScatterMin": "1"} {
		s.expect(s.run(op, nil, x, places, tensorOf([]float32{nan, 0, zero, 0, nan, 7, 1}, 7)), "float32[5] 0 NaN 0 -0 "+last)
	}
}

// TestResizesOfInfinities: an infinity with weight 0 gives NaN, as in TensorFlow 2.15.
func TestResizesOfInfinities(t *testing.T) {
	s, inf := newSession(t), float32(math.Inf(1))
	resized := func(kernel string, width int32, scale float32, x ...float32) Value {
		return s.run("ScaleAndTranslate", graph.Attrs{"kernel_type": []byte(kernel)}, tensorOf(x, 1, 1, len(x), 1), tensorOf([]int32{1, width}, 2), tensorOf([]float32{1, scale}, 2), tensorOf([]float32{0, 0}, 2))
	}
	s.expect(resized("lanczos3", 2, 1./3, inf, 1, 2, 3, 4, 5), "float32[1 1 2 1] +Inf -Inf")
	s.expect(resized("gaussian", 6, 1, 1, 2, 3, 4, 5, inf), "float32[1 1 6 1] 1.1192028522491455 1.9999998807907104 NaN NaN +Inf +Inf")
}

// TestTokens splits texts as ONNX Runtime's Tokenizer does.
func TestTokens(t *testing.T) {
	s, texts := newSession(t), textVector([]string{"the cat", "a ü", ""})
	s.expect(s.run("_Tokens", graph.Attrs{"expression": []byte("[a-z]+"), "pad_value": []byte("#")}, texts), `string[3 2] "the" "cat" "a" "#" "#" "#"`)
	s.expect(s.run("_Tokens", graph.Attrs{"expression": []byte("[a-z]+"), "mincharnum": int64(2)}, texts), `string[3 2] "the" "cat" "" "" "" ""`)
	s.expect(s.run("_Tokens", graph.Attrs{"separators": [][]byte{[]byte(" ")}, "mark": true}, textVector([]string{"a  b"})), `string[1 4] "\x02" "a" "b" "\x03"`)
	s.expect(s.run("_Tokens", nil, textVector([]string{"aü"})), `string[1 2] "a" "ü"`)
	s.refuse("not UTF-8", "_Tokens", nil, textVector([]string{"\xff"}))
	s.refuse("expression", "_Tokens", graph.Attrs{"expression": []byte("(")}, texts)
}

// TestNgramCounts counts single elements once, and pairs also with skipped elements between them.
func TestNgramCounts(t *testing.T) {
	s := newSession(t)
	pool, starts, columns := tensorOf([]int64{1, 2, 1, 2, 2, 1}, 6), tensorOf([]int64{0, 2}, 2), tensorOf([]int64{0, 1, 3, 2}, 4)
	attrs := graph.Attrs{"least": int64(1), "most": int64(2), "skips": int64(1)}
	s.expect(s.run("_NgramCounts", attrs, tensorOf([]int64{1, 2, 1, 2, 7, 2, 1, 1}, 2, 4), pool, starts, columns), "float32[2 4] 2 2 1 2 2 1 2 0")
	s.expect(s.run("_NgramCounts", attrs, tensorOf([]int64{}, 0), pool, starts, columns), "float32[4] 0 0 0 0")
	s.refuse("one for each n-gram", "_NgramCounts", attrs, pool, pool, starts, starts)
	s.refuse("of a pool of 6", "_NgramCounts", attrs, pool, pool, tensorOf([]int64{0, 9}, 2), columns)
}

// textVector returns a vector of texts.
func textVector(list []string) *tensor.Tensor {
	all := make([][]byte, len(list))
	for i, s := range list {
		all[i] = []byte(s)
	}
	t, err := tensor.FromStrings(all, len(all))
	if err != nil {
		panic(err)
	}
	return t
}

// TestTokensEnd: splitting one text ends with the request, as each search may read the whole rest.
func TestTokensEnd(t *testing.T) {
	for name, tok := range map[string]tokenizer{
		"expression": {expression: regexp.MustCompile("a"), least: 2}, "separators": {separators: []*regexp.Regexp{regexp.MustCompile("a.*b|a")}, least: 1},
	} {
		ctx := &endsSoon{t.Context(), 10}
		parts, err := tok.parts(call{ctx: ctx}, bytes.Repeat([]byte("a"), 1000))
		if !errors.Is(err, context.Canceled) || ctx.left != -1 {
			t.Errorf("%s: got %d parts and %v, expected the end when it is asked for the 11th time", name, len(parts), err)
		}
	}
}

// TestNgramPoolIsKept: the tree of a pool is built once, and another pool has its own.
func TestNgramPoolIsKept(t *testing.T) {
	texts := &ngramCounter[string]{r: ngramRange{1, 2, 0}, values: textsOf, same: sameTexts}
	pool := func(words ...string) *ngramPool[string] {
		t.Helper()
		in := []*tensor.Tensor{textVector(words), textVector(words), tensorOf([]int64{0}, 1), tensorOf([]int64{0, 1}, 2)}
		c := call{ctx: t.Context(), env: &Env{}}
		for _, x := range in {
			c.in = append(c.in, Value{T: x})
		}
		p, err := texts.pool(c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := pool("a", "b")
	if pool("a", "b") != first || pool("a", "c") == first {
		t.Error("the tree of a pool is made anew for the same pool, or kept for another")
	}
}

// TestRowOrder: the first different elements decide, NaN comes first, and equal rows keep their order.
func TestRowOrder(t *testing.T) {
	s := newSession(t)
	nan := float32(math.NaN())
	s.expect(s.run("_RowOrder", nil, tensorOf([]float32{1, 2, 1, -1, nan, 5, 1, 2}, 4, 2)), "int32[4] 2 1 0 3")
	s.expect(s.run("_RowOrder", nil, tensorOf([]int64{math.MaxInt64, math.MaxInt64 - 1, math.MinInt64}, 3)), "int32[3] 2 1 0")
	s.expect(s.run("_RowOrder", nil, textVector([]string{"b", "", "\xff", "ba"})), "int32[4] 1 0 3 2")
	s.expect(s.run("_RowOrder", nil, tensorOf([]float32{}, 3, 0)), "int32[3] 0 1 2")
	s.refuse("at least one dimension", "_RowOrder", nil, tensorOf([]float32{1}))
}

// TestErrorsAreShort: a shape with very many dimensions is not quoted in full.
func TestErrorsAreShort(t *testing.T) {
	const n = 100_000
	shape := tensor.New(tensor.Int32, n)
	for i := range n {
		tensor.Values[int32](shape)[i] = -1
	}
	node := &graph.Node{Name: "r", Op: "Reshape", Outputs: []graph.Type{{}}}
	_, err := Run(t.Context(), node, []Value{{T: tensor.Scalar(float32(1))}, {T: shape}}, nil)
	if err == nil || len(err.Error()) > 2000 || !strings.HasSuffix(err.Error(), "...") || !strings.Contains(err.Error(), `node "r" (Reshape)`) {
		t.Errorf("got %.3000s", fmt.Sprint(err))
	}
}
