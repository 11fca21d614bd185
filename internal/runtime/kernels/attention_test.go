package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// plainAttention computes the definition, with the matrix of weights.
func plainAttention(a Attention[float64]) (out, lse []float64) {
	out, lse = make([]float64, len(a.Out)), make([]float64, len(a.LSE))
	u := make([]float64, a.Batch*a.Heads*a.Queries*a.Keys)
	Uniform(u, a.Numbers)
	for row := range a.LSE {
		b, h, i := row/a.Queries/a.Heads, row/a.Queries%a.Heads, row%a.Queries
		g := h / (a.Heads / a.Groups)
		w, sum := make([]float64, a.Keys), 0.0
		for k := range w {
			seen := !a.Causal || k <= i
			if a.Mask != nil {
				seen = seen && a.Mask[b*a.MaskAt[0]+h*a.MaskAt[1]+i*a.MaskAt[2]+k*a.MaskAt[3]]
			}
			if !seen {
				continue
			}
			s := 0.0
			for d := range a.Depth {
				s += a.Q[((b*a.Queries+i)*a.Heads+h)*a.Depth+d] * a.K[((b*a.Keys+k)*a.Groups+g)*a.Depth+d]
			}
			w[k] = math.Exp(s * a.Scale)
			sum += w[k]
		}
		lse[row] = math.Log(sum)
		if sum == 0 {
			lse[row] = math.Inf(1)
			continue
		}
		for k := range w {
			p := w[k] / sum
			if a.Drop > 0 {
				if u[row*a.Keys+k] >= a.Drop {
					p /= 1 - a.Drop
				} else {
					p = 0
				}
			}
			for d := range a.Width {
				out[((b*a.Queries+i)*a.Heads+h)*a.Width+d] += p * a.V[((b*a.Keys+k)*a.Groups+g)*a.Width+d]
			}
		}
	}
	return out, lse
}

func attentionOf(r *rand.Rand, dims [7]int) Attention[float64] {
	a := Attention[float64]{Batch: dims[0], Heads: dims[1], Groups: dims[2], Queries: dims[3], Keys: dims[4], Depth: dims[5], Width: dims[6], Scale: 0.6}
	draw := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	a.Q, a.K, a.V = draw(a.Batch*a.Queries*a.Heads*a.Depth), draw(a.Batch*a.Keys*a.Groups*a.Depth), draw(a.Batch*a.Keys*a.Groups*a.Width)
	a.Out, a.LSE = make([]float64, a.Batch*a.Queries*a.Heads*a.Width), make([]float64, a.Batch*a.Heads*a.Queries)
	return a
}

func attentionCases(each func(name string, a Attention[float64])) {
	for i, dims := range [][7]int{{1, 1, 1, 1, 1, 1, 1}, {2, 4, 2, 5, 7, 3, 2}, {1, 2, 1, 70, 300, 8, 5}, {2, 2, 2, 130, 130, 4, 4}, {1, 3, 3, 9, 2, 3, 4}} {
		for kind := range 8 {
			r := rand.New(rand.NewPCG(uint64(i), uint64(kind)))
			a := attentionOf(r, dims)
			a.Causal = kind&1 != 0
			if kind&2 != 0 {
				a.Mask, a.MaskAt = make([]bool, a.Batch*a.Queries*a.Keys), [4]int{a.Queries * a.Keys, 0, a.Keys, 1}
				for k := range a.Mask {
					a.Mask[k] = r.IntN(3) > 0
				}
			}
			if kind&4 != 0 {
				a.Drop, a.Numbers = 0.3, Rand{Key: 7, Counter: [2]uint64{0, 3}}
			}
			each(fmt.Sprint(dims, " kind ", kind), a)
		}
	}
}

func TestAttention(t *testing.T) {
	attentionCases(func(name string, a Attention[float64]) {
		want, lse := plainAttention(a)
		Attend(a)
		nearAll(t, name+": out", a.Out, want, 1e-11)
		nearAll(t, name+": lse", a.LSE, lse, 1e-11)
		single := attentionAs32(a)
		Attend(single)
		if a.Drop == 0 { // the numbers of a stream depend on the type
			nearAll(t, name+": float32", widened(single.Out), want, 2e-5)
		}
	})
}

func TestAttentionGrad(t *testing.T) {
	attentionCases(func(name string, a Attention[float64]) {
		if len(a.Q)+len(a.K) > 400 {
			return
		}
		Attend(a)
		g := AttentionGrad[float64]{DOut: make([]float64, len(a.Out)), DQ: make([]float64, len(a.Q)), DK: make([]float64, len(a.K)), DV: make([]float64, len(a.V))}
		for i := range g.DOut {
			g.DOut[i] = math.Sin(float64(i))
		}
		AttendGrad(a, g)
		for what, p := range map[string][2][]float64{"q": {a.Q, g.DQ}, "k": {a.K, g.DK}, "v": {a.V, g.DV}} {
			nearAll(t, name+": d"+what, p[1], attentionDifferences(a, p[0], g.DOut), 1e-6)
		}
	})
}

// TestAttentionGradInBlocks has several blocks of queries and of keys.
func TestAttentionGradInBlocks(t *testing.T) {
	for kind, name := range []string{"causal", "masked", "masked, with dropout"} {
		r := rand.New(rand.NewPCG(3, 4))
		a := attentionOf(r, [7]int{1, 2, 1, []int{130, 300, 257}[kind], 300, 4, 3})
		if a.Causal = kind == 0; kind > 0 {
			a.Mask, a.MaskAt = make([]bool, a.Queries*a.Keys), [4]int{0, 0, a.Keys, 1}
			for k := range a.Mask {
				a.Mask[k] = k/a.Keys%9 != 3 && r.IntN(3) > 0 // some queries see nothing
			}
		}
		if kind == 2 {
			a.Drop, a.Numbers = 0.3, Rand{Key: 7, Counter: [2]uint64{0, 3}}
		}
		Attend(a)
		g := AttentionGrad[float64]{DOut: make([]float64, len(a.Out)), DQ: make([]float64, len(a.Q)), DK: make([]float64, len(a.K)), DV: make([]float64, len(a.V))}
		for i := range g.DOut {
			g.DOut[i] = math.Cos(float64(i))
		}
		AttendGrad(a, g)
		for _, p := range [][2][]float64{{a.Q, g.DQ}, {a.K, g.DK}, {a.V, g.DV}} {
			for i := 0; i < len(p[0]); i += 97 {
				one := attentionDifferences(a, p[0][i:i+1], g.DOut)
				nearAll(t, fmt.Sprint(name, ": element ", i), p[1][i:i+1], one, 1e-6)
			}
		}
	}
}

// attentionDifferences returns central differences of sum(dout*out) by the elements of x, one of a's operands.
func attentionDifferences(a Attention[float64], x, dout []float64) []float64 {
	const h = 1e-5
	loss := func() (sum float64) {
		out, _ := plainAttention(a)
		for i, v := range out {
			sum += v * dout[i]
		}
		return sum
	}
	d := make([]float64, len(x))
	for i, v := range x {
		x[i] = v + h
		up := loss()
		x[i] = v - h
		d[i] = (up - loss()) / (2 * h)
		x[i] = v
	}
	return d
}

func attentionAs32(a Attention[float64]) Attention[float32] {
	return Attention[float32]{Batch: a.Batch, Heads: a.Heads, Groups: a.Groups, Queries: a.Queries, Keys: a.Keys, Depth: a.Depth, Width: a.Width,
		Q: narrowed(a.Q), K: narrowed(a.K), V: narrowed(a.V), Out: narrowed(a.Out), LSE: narrowed(a.LSE),
		Scale: float32(a.Scale), Causal: a.Causal, Mask: a.Mask, MaskAt: a.MaskAt, Drop: a.Drop, Numbers: a.Numbers}
}

func narrowed(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func widened(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func nearAll(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	for i, w := range want {
		if g := got[i]; !testkit.Near(g, w, tol*math.Max(1, math.Abs(w))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

func BenchmarkAttention(b *testing.B) {
	a := attentionAs32(attentionOf(rand.New(rand.NewPCG(1, 2)), [7]int{8, 8, 8, 512, 512, 64, 64}))
	g := AttentionGrad[float32]{DOut: narrowed(make([]float64, len(a.Out))), DQ: narrowed(make([]float64, len(a.Q))), DK: narrowed(make([]float64, len(a.K))), DV: narrowed(make([]float64, len(a.V)))}
	for _, causal := range []bool{false, true} {
		a.Causal = causal
		b.Run(fmt.Sprint("forward causal=", causal), func(b *testing.B) {
			for b.Loop() {
				Attend(a)
			}
		})
		b.Run(fmt.Sprint("backward causal=", causal), func(b *testing.B) {
			for b.Loop() {
				AttendGrad(a, g)
			}
		})
	}
}
