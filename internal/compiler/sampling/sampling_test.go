package sampling_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/sampling"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// TestDrawsByProbability compares how often each token is drawn with its probability.
func TestDrawsByProbability(t *testing.T) {
	const n = 20000
	logits := []float32{0, float32(math.Log(2)), -5, float32(math.Log(5)), float32(math.Inf(-1))}
	for _, c := range []struct {
		s    sampling.Sampler
		want []float64
	}{
		{sampling.Sampler{Temperature: 1, TopK: 3}, []float64{1. / 8, 2. / 8, 0, 5. / 8, 0}},
		{sampling.Sampler{Temperature: 0.5, TopK: 2, Seed: 9}, []float64{0, 4. / 29, 0, 25. / 29, 0}},
		{sampling.Sampler{Temperature: float32(math.Inf(1)), TopK: 4, Seed: -3}, []float64{1. / 4, 1. / 4, 1. / 4, 1. / 4, 0}},
		{sampling.Sampler{Temperature: 3, TopK: 1}, []float64{0, 0, 0, 1, 0}},
		{sampling.Sampler{Temperature: float32(math.NaN())}, []float64{0, 0, 0, 1, 0}},
		{sampling.Sampler{Temperature: -1, TopK: 100}, []float64{0, 0, 0, 1, 0}},
	} {
		got := make([]float64, len(logits))
		for position := range int64(n) {
			got[c.s.Draw(logits, position)] += 1. / n
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 0.015 || c.want[i] == 0 && got[i] > 0 {
				t.Errorf("%+v: token %d in %.4f of all places, expected %.4f", c.s, i, got[i], c.want[i])
			}
		}
	}
}

// TestUniform looks at neighbouring seeds and positions: their numbers do not depend on each other.
func TestUniform(t *testing.T) {
	for _, next := range []func(i int64) (seed, position int64){
		func(i int64) (int64, int64) { return 1, i }, func(i int64) (int64, int64) { return i, 1 },
		func(i int64) (int64, int64) { return i << 32, 1 }, func(i int64) (int64, int64) { return -i, i },
	} {
		const n = 50000
		var sum, square, product float64
		before := 0.5
		for i := range int64(n) {
			u := float64(sampling.Uniform(next(i)))
			if u < 0 || u >= 1 {
				t.Fatalf("number %v", u)
			}
			sum, square, product = sum+u-0.5, square+(u-0.5)*(u-0.5), product+(u-0.5)*(before-0.5)
			before = u
		}
		if math.Abs(sum/n) > 0.006 || math.Abs(square/n-1./12) > 0.003 || math.Abs(product/n) > 0.002 {
			t.Errorf("mean %.4f, variance %.4f, covariance of neighbours %.5f", sum/n+0.5, square/n, product/n)
		}
	}
}

// TestGraphDrawsTheSame runs the ops on random rows.
func TestGraphDrawsTheSame(t *testing.T) {
	const rows, tokens = 400, 11
	b := graph.NewBuilder(graph.New())
	column := func(name string, d tensor.DType) graph.Output {
		return b.Placeholder(name, graph.Type{DType: d, Shape: graph.BatchOf()})
	}
	in := sampling.Operands{Logits: b.Placeholder("logits", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(tokens)}), Temperature: column("temperature", tensor.Float32),
		TopK: column("k", tensor.Int32), Seed: column("seed", tensor.Int64), Position: column("position", tensor.Int64)}
	out := sampling.Emit(b, "sample", in)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	r := rand.New(rand.NewPCG(3, 4))
	feeds := map[*graph.Node]eager.Value{}
	for _, o := range []graph.Output{in.Logits, in.Temperature, in.TopK, in.Seed, in.Position} {
		feeds[o.Node] = eager.Value{T: tensor.New(o.DType(), o.Shape().At(rows)...)}
	}
	logits, temperature, k := tensor.Values[float32](feeds[in.Logits.Node].T), tensor.Values[float32](feeds[in.Temperature.Node].T), tensor.Values[int32](feeds[in.TopK.Node].T)
	seed, position := tensor.Values[int64](feeds[in.Seed.Node].T), tensor.Values[int64](feeds[in.Position.Node].T)
	for i := range logits {
		logits[i] = float32(r.IntN(9)) - 4 // ties among them
	}
	for i := range rows {
		temperature[i], k[i] = []float32{0, -1, 0.3, 1, 4, 1e-30, float32(math.Inf(1))}[i%7], int32(r.IntN(16)-2)
		seed[i], position[i] = r.Int64()-r.Int64(), r.Int64N(1<<40)
	}
	for _, n := range b.Graph.Nodes() {
		if _, ok := feeds[n]; ok {
			continue
		}
		var args []eager.Value
		for _, x := range n.Inputs {
			args = append(args, feeds[x.Node]) // no second outputs are read
		}
		values, err := eager.Run(context.Background(), n, args, nil)
		if err != nil {
			t.Fatalf("%s: %v", n.Name, err)
		}
		feeds[n] = values[0]
	}
	got := tensor.Values[int32](feeds[out.Node].T)
	for i := range rows {
		s := sampling.Sampler{Temperature: temperature[i], TopK: int(k[i]), Seed: seed[i]}
		if want := s.Draw(logits[i*tokens:(i+1)*tokens], position[i]); int(got[i]) != want {
			t.Errorf("%+v, position %d: the graph drew %d, Draw %d, of %v", s, position[i], got[i], want, logits[i*tokens:(i+1)*tokens])
		}
	}
}
