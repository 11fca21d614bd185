package eager

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// paidCase is a node whose few inputs ask for much memory.
type paidCase struct {
	name, op string
	attrs    graph.Attrs
	in       []Value
	works    bool // it succeeds with the available memory
}

// TestSmallInputsPaid: a few inputs and attributes that ask for much memory are refused, or computed in little memory.
func TestSmallInputsPaid(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 40, Request: 8 << 20})
	defer memory.Close()
	row := make([]float32, 3*1000)
	counts := graph.Attrs{"output_type": tensor.Int64, "binary_output": false}
	none := Value{T: tensor.New(tensor.Int64, 0)}
	for _, c := range []paidCase{
		{"a beam of all sequences", "CTCBeamSearchDecoder", graph.Attrs{"beam_width": int64(1e9), "top_paths": int64(1)}, []Value{{T: tensorOf(row, 3, 1, 1000)}, {T: tensorOf([]int32{3}, 1)}}, false},
		{"many paths", "CTCBeamSearchDecoder", graph.Attrs{"beam_width": int64(1), "top_paths": int64(1 << 16)}, []Value{{T: tensor.New(tensor.Float32, 1, 20, 2)}, {T: tensor.New(tensor.Int32, 20)}}, false},
		{"channels whose product with the coefficients overflows", "Mfcc", graph.Attrs{"filterbank_channel_count": int64(1 << 33), "dct_coefficient_count": int64(1<<31 - 2)},
			[]Value{{T: tensor.New(tensor.Float32, 1, 1, 4)}, {T: tensor.Scalar(int32(8000))}}, false},
		{"a transform of nothing", "RFFT", nil, []Value{{T: tensor.New(tensor.Float32, 1, 0)}, {T: tensorOf([]int32{1<<19 - 1}, 1)}}, true},
		{"an inverse transform of nothing", "IRFFT", nil, []Value{{T: tensor.New(tensor.Complex64, 1, 0)}, {T: tensorOf([]int32{1<<19 - 1}, 1)}}, true},
		{"rows without values to count", "SparseCountSparseOutput", counts, []Value{{T: tensor.New(tensor.Int64, 0, 2)}, none, {T: tensorOf([]int64{1 << 25, 5}, 2)}, none}, true},
		{"rows of one value to count", "DenseCountSparseOutput", counts, []Value{{T: tensor.New(tensor.Int64, 1<<16, 1)}, none}, true},
		sparseColumns("many columns of many rows without values", 50, 100_000),
		sparseColumns("columns of rows beyond all memory", 2, math.MaxInt64-1<<39),
		raggedColumns("columns of rows whose product overflows", math.MaxInt64-1<<39),
		raggedColumns("many ragged columns of many rows without values", 100_000),
		binomial("draws of many pairs, at no place", 0, true),
		binomial("draws of many pairs", 1, false),
	} {
		env := &Env{Payer: Payer{Account: memory.OpenLasting(), Lasting: true}}
		before := allocated()
		_, err := Run(t.Context(), &graph.Node{Name: "n", Op: c.op, Attrs: c.attrs}, c.in, env)
		if c.works != (err == nil) || errors.Is(err, errPanic) {
			t.Errorf("%s: %v", c.name, err)
		}
		if grew := allocated() - before; grew > 16<<20 {
			t.Errorf("%s: %d MiB were allocated, %v", c.name, grew>>20, err)
		}
	}
}

// binomial draws for many pairs of counts and probabilities, whose shapes are small, but broadcast to a large one.
func binomial(name string, places int64, works bool) paidCase {
	const n = 1 << 14
	return paidCase{name, "StatelessRandomBinomial", graph.Attrs{"T": tensor.Float32, "dtype": tensor.Float32}, []Value{{T: tensorOf([]int64{places, n, n}, 3)}, {T: tensorOf([]int64{1, 2}, 2)},
		{T: tensor.New(tensor.Float32, n, 1)}, {T: tensor.New(tensor.Float32, 1, n)}}, works}
}

// emptyColumns returns the indices, values and shapes of n sparse columns without values.
func emptyColumns(n int, rows int64) (in []Value) {
	for _, t := range []*tensor.Tensor{tensor.New(tensor.Int64, 0, 2), tensor.New(tensor.Int64, 0), tensorOf([]int64{rows, 1}, 2)} {
		for range n {
			in = append(in, Value{T: t})
		}
	}
	return in
}

func sparseColumns(name string, n int, rows int64) paidCase {
	attrs := graph.Attrs{"N": int64(n), "hashed_output": true, "num_buckets": int64(0), "hash_key": int64(1), "internal_type": tensor.Int64, "out_type": tensor.Int64}
	return paidCase{name, "SparseCross", attrs, emptyColumns(n, rows), false}
}

func raggedColumns(name string, rows int64) paidCase {
	const n = 50
	attrs := graph.Attrs{"Nsparse": int64(n), "input_order": []byte(strings.Repeat("S", n)), "hashed_output": true, "num_buckets": int64(0), "hash_key": int64(1),
		"out_values_type": tensor.Int64, "out_row_splits_type": tensor.Int64}
	return paidCase{name, "RaggedCross", attrs, emptyColumns(n, rows), false}
}

// TestCrossOfNothing: a row in which one column has no value has no combinations, however many values the others have.
func TestCrossOfNothing(t *testing.T) {
	const many = 50_000
	index := make([]int64, 2*many)
	for i := range many {
		index[2*i+1] = int64(i)
	}
	at, values, shape := tensorOf(index, many, 2), tensor.New(tensor.Int64, many), tensorOf([]int64{1, 1}, 2)
	none, nothing := tensor.New(tensor.Int64, 0, 2), tensor.New(tensor.Int64, 0)
	attrs := graph.Attrs{"N": int64(3), "hashed_output": true, "num_buckets": int64(0), "hash_key": int64(1), "internal_type": tensor.Int64, "out_type": tensor.Int64}
	s := newSession(t)
	for _, in := range [][]any{{at, at, none, values, values, nothing, shape, shape, shape}, {none, at, at, nothing, values, values, shape, shape, shape}} {
		out, err := s.try("SparseCross", attrs, in...)
		if err != nil {
			t.Fatal(err)
		}
		if n, size := out[0].T.Shape[0], tensor.Values[int64](out[2].T); n != 0 || size[0] != 1 || size[1] != 0 {
			t.Errorf("got %d values in %v, expected none in 1 row", n, size)
		}
	}
	if _, err := s.try("SparseCross", attrs, at, at, at, values, values, values, shape, shape, shape); !errors.Is(err, ErrLimit) {
		t.Errorf("all combinations: %v, expected ErrLimit", err)
	}
}

// TestBeamsForget: the tree of a search only has the sequences in the beam, and their prefixes.
func TestBeamsForget(t *testing.T) {
	const width, frames, classes = 8, 100, 30
	d := beams[float64]{c: call{ctx: t.Context()}, width: width, blank: classes - 1}
	d.begin()
	row := make([]float64, classes)
	for frame := range frames {
		for k := range row { // an order that changes from frame to frame
			row[k] = math.Sin(float64(frame*classes + k*k))
		}
		if err := d.step(row); err != nil {
			t.Fatal(err)
		}
	}
	root := d.best(1)[0]
	for root.parent != nil {
		root = root.parent
	}
	var size func(p *prefix[float64]) int
	size = func(p *prefix[float64]) (n int) {
		for _, child := range p.longer {
			n += 1 + size(child)
		}
		return n
	}
	if n := size(root); n != d.size || n > width*frames {
		t.Errorf("the tree has %d sequences, %d are counted, expected at most %d", n, d.size, width*frames)
	}
}

// TestSlowPairsEnd: kernels whose time grows faster than their memory end with their context.
func TestSlowPairsEnd(t *testing.T) {
	large := tensor.New(tensor.Float64, 1<<10)
	for i := range large.Len() {
		tensor.Values[float64](large)[i] = 1e10
	}
	logits := []Value{{T: tensor.New(tensor.Float32, 4, 1, 3)}, {T: tensorOf([]int32{4}, 1)}}
	for op, c := range map[string]paidCase{
		"Igamma":               {in: []Value{{T: large}, {T: large}}},
		"CTCBeamSearchDecoder": {attrs: graph.Attrs{"beam_width": int64(4), "top_paths": int64(1)}, in: logits},
		"StringNGrams":         {attrs: graph.Attrs{"ngram_widths": []int64{1 << 10}, "pad_width": int64(-1)}, in: []Value{{T: texts("")}, {T: tensorOf([]int64{0, 1}, 2)}}},
	} {
		_, err := Run(&endsSoon{t.Context(), 1}, &graph.Node{Name: "n", Op: op, Attrs: c.attrs}, c.in, nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: expected that it ends with its context, got %v", op, err)
		}
	}
}

// TestOddSounds: frequency limits beyond the spectrum, and weights that float64 cannot count exactly. The results are TensorFlow 2.15's.
func TestOddSounds(t *testing.T) {
	s := newSession(t)
	for _, low := range []float32{20, 1e30} {
		s.run("Mfcc", graph.Attrs{"lower_frequency_limit": low, "upper_frequency_limit": float32(2e30)}, tensor.New(tensor.Float32, 1, 1, 4), tensor.Scalar(int32(8000)))
	}
	out, err := s.try("DenseCountSparseOutput", graph.Attrs{"output_type": tensor.Int64, "binary_output": false}, tensorOf([]int64{1, 1}, 2), tensorOf([]int64{1<<53 + 1, 1}, 2))
	if err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[int64](out[1].T)[0]; got != 1<<53+2 {
		t.Errorf("got %d, expected %d", got, 1<<53+2)
	}
}

// TestScripts: the script numbers of one character each, as in TensorFlow 2.15.
func TestScripts(t *testing.T) {
	for r, want := range map[int32]int32{
		-1: -1, 0x110000: -1, 0x378: 103, 0x10ffff: 103, '0': 0, 'a': 25, 0x300: 1, 0x370: 14, 0x7c0: 87, 0x800: 126, 0x840: 84, 0x1c00: 82, 0xa500: 99, 0xa840: 90, 0xa980: 78,
		0x10280: 107, 0x10c00: 88, 0x12000: 101, 0x13000: 71, 0x16fe1: 150, 0x16fe4: 191, 0x1d800: 112, 0x1e900: 167, 0x1e100: 186,
	} {
		if got := scriptOf(r); got != want {
			t.Errorf("%#x: got %d, expected %d", r, got, want)
		}
	}
}
