package eager

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// goldenDraw is a node that TensorFlow ran three times, or ops on the state in a variable: see interop/eager_random.py.
type goldenDraw struct {
	goldenCase
	Runs  [][]goldenDigest
	Steps []goldenStep
}

// goldenDigest is a tensor; with a hash it has only the beginning.
type goldenDigest struct {
	goldenTensor
	Hash string
}

// TestRandom: random ops draw TensorFlow 2.15's numbers, and continue from run to run like there. Uniforms, integers and the narrow
// types have the same bits; numbers that need a logarithm or a sine differ by at most the tolerance.
func TestRandom(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readCases[goldenDraw](t, "testdata/random.json.gz") {
		seen[c.Op] = true
		if c.Steps != nil {
			for _, s := range c.Steps {
				seen[s.Op] = true
			}
			if err := (goldenSequence{Name: c.Name, Steps: c.Steps, Error: c.Error}).compare(t, 2e-6); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			continue
		}
		if err := c.compare(t); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	for op, why := range unrecorded {
		if why == byDraws && !seen[op] {
			t.Errorf("%s has no recorded numbers: add some to interop/eager_random.py", op)
		}
	}
}

func (c goldenDraw) compare(t testing.TB) error {
	n, in := c.node(t)
	p, err := prepare(n, nil)
	for run := 0; run < max(len(c.Runs), 1) && err == nil; run++ {
		out := make([]Value, p.outputs)
		if err = p.run(context.Background(), nil, in, out); err != nil || c.Error != "" {
			break
		}
		if len(out) != len(c.Runs[run]) {
			return fmt.Errorf("got %d outputs, expected %d", len(out), len(c.Runs[run]))
		}
		for i, want := range c.Runs[run] {
			if err := want.compare(out[i].T, c.Tolerance); err != nil {
				return fmt.Errorf("run %d, output %d: %w", run, i, err)
			}
		}
	}
	switch {
	case c.Error == "":
		return err
	case err == nil:
		return fmt.Errorf("accepted, expected the error %q", c.Error)
	}
	return nil
}

func (g goldenDigest) compare(t *tensor.Tensor, tolerance float64) error {
	if g.Hash == "" {
		return near(t, g.tensor(), tolerance)
	}
	if !slices.Equal(t.Shape, g.Shape) {
		return fmt.Errorf("got shape %v, expected %v", t.Shape, g.Shape)
	}
	h := uint64(14695981039346656037)
	for at := 0; at < len(t.Bytes); at += 8 {
		var word uint64
		for i, b := range t.Bytes[at:min(at+8, len(t.Bytes))] {
			word |= uint64(b) << (8 * i)
		}
		h = (h ^ word) * 1099511628211
	}
	if got := strconv.FormatUint(h, 10); got != g.Hash {
		return fmt.Errorf("got the hash %s, expected %s of a tensor that begins as %s", got, g.Hash, describe(t))
	}
	return nil
}

// TestGenerators: a node continues the stream of its name, another one begins with its own seeds, and nodes without seeds differ.
func TestGenerators(t *testing.T) {
	node := func(name string, seed int64) *graph.Node {
		return &graph.Node{Name: name, Op: "RandomUniform", Attrs: graph.Attrs{"seed": seed, "dtype": tensor.Float32}}
	}
	shape := tensor.New(tensor.Int32, 1)
	tensor.Values[int32](shape)[0] = 3
	draw := func(k Kernel, err error) []float32 {
		out := make([]Value, 1)
		if err == nil {
			err = k(t.Context(), nil, []Value{{T: shape}}, out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return tensor.Values[float32](out[0].T)
	}
	expect := func(got []float32, skipped uint64) {
		t.Helper()
		want := make([]float32, 3)
		kernels.Uniform(want, kernels.Seeded(7, 0).Skip(skipped))
		if !slices.Equal(got, want) {
			t.Errorf("got %v, expected %v", got, want)
		}
	}
	var g Generators
	expect(draw(g.Prepare(node("a", 7))), 0)
	expect(draw(g.Prepare(node("a", 7))), 3*256)
	expect(draw(g.Prepare(node("b", 7))), 0)
	expect(draw(Prepare(node("a", 7))), 0)
	if g.Len() != 2 {
		t.Errorf("got %d states, expected 2", g.Len())
	}
	if slices.Equal(draw(g.Prepare(node("c", 0))), draw(g.Prepare(node("d", 0)))) {
		t.Error("nodes without seeds drew the same numbers")
	}
}

// TestRandomRefused: draws that take too much memory or never end fail, and the message says why.
func TestRandomRefused(t *testing.T) {
	s := newSession(t)
	huge, two := []int64{1 << 40, 1 << 20}, []int64{2}
	s.refuse("too large", "RandomUniform", graph.Attrs{"dtype": tensor.Float16}, huge)
	s.refuse("too large", "RandomGamma", graph.Attrs{"T": tensor.Float32}, huge, []float32{1})
	s.refuse("too large", "Multinomial", nil, tensorOf([]float32{1, 2}, 1, 2), int32(math.MaxInt32))
	s.refuse("no number of type int64 was found for NaN", "RandomPoissonV2", nil, two, []float64{math.NaN()})
	s.refuse("no number of type int32 was found for 1e+300", "RandomPoissonV2", graph.Attrs{"dtype": tensor.Int32}, two, []float64{1e300})
	s.refuse("range is too small", "UniformCandidateSampler", graph.Attrs{"num_true": int64(1), "num_sampled": int64(9), "unique": true, "range_max": int64(8)}, tensorOf([]int64{1}, 1, 1))
	s.refuse("algorithm 2 not supported", "StatelessRandomUniformV2", nil, two, []uint64{1}, []uint64{1, 2}, int32(2))
	s.refuse("must have shape [2]", "StatelessRandomUniform", nil, two, []int64{1})
}
