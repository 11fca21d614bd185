package kernels

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// slots are a variable, its gradient and up to three slots, with a float64 copy for the reference.
type slots[T Float] struct {
	w, g, a, b, c []T
	ref           [5][]float64
}

func newSlots[T Float](t *rapid.T) *slots[T] {
	n := rapid.IntRange(0, 100).Draw(t, "n")
	r := newRand(rapid.Uint64().Draw(t, "seed"))
	s := &slots[T]{w: vector[T](r, n), g: vector[T](r, n), a: positive[T](r, n), b: positive[T](r, n), c: vector[T](r, n)}
	for i := range s.c {
		s.c[i] *= 0.01
	}
	s.ref = [5][]float64{widen(s.w), widen(s.g), widen(s.a), widen(s.b), widen(s.c)}
	return s
}

// check runs the reference for each element and compares the variable and the slots.
func (s *slots[T]) check(t *rapid.T, what string, f func(w, g, a, b, c *float64)) {
	for i := range s.w {
		f(&s.ref[0][i], &s.ref[1][i], &s.ref[2][i], &s.ref[3][i], &s.ref[4][i])
	}
	for i, v := range [][]T{s.w, s.g, s.a, s.b, s.c} {
		requireClose(t, what+", vector "+string("wgabc"[i]), v, s.ref[i], tolerance[T](20), 1)
	}
}

func testMomenta[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nesterov := rapid.Bool().Draw(t, "nesterov")
		s := newSlots[T](t)
		SGD(s.w, s.g, 0.1)
		s.check(t, "sgd", func(w, g, _, _, _ *float64) { *w -= 0.1 * *g })
		Momentum(s.w, s.a, s.g, 0.1, 0.9, nesterov)
		s.check(t, "momentum", func(w, g, m, _, _ *float64) {
			*m = 0.9**m + *g
			if nesterov {
				*w -= 0.1 * (*g + 0.9**m)
			} else {
				*w -= 0.1 * *m
			}
		})
		KerasMomentum(s.w, s.a, s.g, 0.1, 0.9, nesterov)
		s.check(t, "keras momentum", func(w, g, m, _, _ *float64) {
			*m = 0.9**m - 0.1**g
			if nesterov {
				*w += 0.9**m - 0.1**g
			} else {
				*w += *m
			}
		})
	})
}

func testAdam[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := AdamParams[T]{LR: T(0.01 * math.Sqrt(1-math.Pow(0.999, 3)) / (1 - math.Pow(0.9, 3))), Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7,
			Nesterov: rapid.Bool().Draw(t, "nesterov"), Decay: rapid.SampledFrom([]T{0, 0.02}).Draw(t, "decay")}
		lr := 0.01 * math.Sqrt(1-0.999*0.999*0.999) / (1 - 0.9*0.9*0.9)
		s := newSlots[T](t)
		Adam(s.w, s.a, s.b, s.g, p)
		s.check(t, "adam", func(w, g, m, v, _ *float64) {
			*m = 0.9**m + 0.1**g
			*v = 0.999**v + 0.001**g**g
			use := *m
			if p.Nesterov {
				use = 0.9**m + 0.1**g
			}
			*w = *w*(1-float64(p.Decay)) - lr*use/(math.Sqrt(*v)+1e-7)
		})
	})
}

func testAdaptive[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSlots[T](t)
		AdagradV2(s.w, s.a, s.g, 0.1, 0)
		s.check(t, "adagrad", func(w, g, a, _, _ *float64) {
			*a += *g * *g
			*w -= 0.1 * *g / math.Sqrt(*a)
		})
		AdagradV2(s.w, s.a, s.g, 0.1, 0.3)
		s.check(t, "adagrad v2", func(w, g, a, _, _ *float64) {
			*a += *g * *g
			*w -= 0.1 * *g / (math.Sqrt(*a) + 0.3)
		})
		p := RMSPropParams[T]{LR: 0.1, Rho: 0.9, Momentum: 0.5, Epsilon: 0.01, EpsilonOutside: rapid.Bool().Draw(t, "outside")}
		var mg []T
		if rapid.Bool().Draw(t, "centered") {
			mg = s.c
		}
		RMSProp(s.w, s.a, s.b, mg, s.g, p)
		s.check(t, "rmsprop", func(w, g, ms, mom, c *float64) {
			*ms = 0.9**ms + 0.1**g**g
			under := *ms
			if mg != nil {
				*c = 0.9**c + 0.1**g
				under -= *c * *c
			}
			root := math.Sqrt(under + 0.01)
			if p.EpsilonOutside {
				root = math.Sqrt(under) + 0.01
			}
			*mom = 0.5**mom + 0.1**g/root
			*w -= *mom
		})
	})
}

func testFtrl[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := FtrlParams[T]{LR: 0.5, L1: 0.125, L2: 0.25, L2Shrinkage: rapid.SampledFrom([]T{0, 0.125}).Draw(t, "shrinkage"),
			LRPower: rapid.SampledFrom([]T{-0.5, -0.25, 0}).Draw(t, "power")}
		s := newSlots[T](t)
		Ftrl(s.w, s.a, s.c, s.g, p)
		s.check(t, "ftrl", func(w, g, accum, _, linear *float64) {
			next, power := *accum+*g**g, -float64(p.LRPower)
			*linear += *g + 2*float64(p.L2Shrinkage)**w - (math.Pow(next, power)-math.Pow(*accum, power))/0.5**w
			*accum = next
			if math.Abs(*linear) > 0.125 {
				*w = (math.Copysign(0.125, *linear) - *linear) / (math.Pow(next, power)/0.5 + 0.5)
			} else {
				*w = 0
			}
		})
	})
}

func TestOptimizers(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("momenta/float32", testMomenta[float32])
		t.Run("momenta/float64", testMomenta[float64])
		t.Run("adam/float32", testAdam[float32])
		t.Run("adam/float64", testAdam[float64])
		t.Run("adaptive/float32", testAdaptive[float32])
		t.Run("adaptive/float64", testAdaptive[float64])
		t.Run("ftrl/float32", testFtrl[float32])
		t.Run("ftrl/float64", testFtrl[float64])
	})
}

func TestOptimizersDoNotAllocate(t *testing.T) {
	const n = 50_000
	w, m, v, g := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	requireNoAllocs(t, "SGD", func() { SGD(w, g, 0.1) })
	requireNoAllocs(t, "Momentum", func() { Momentum(w, m, g, 0.1, 0.9, true) })
	requireNoAllocs(t, "Adam", func() { Adam(w, m, v, g, AdamParams[float32]{LR: 0.1, Epsilon: 1}) })
	requireNoAllocs(t, "AdagradV2", func() { AdagradV2(w, m, g, 0.1, 1) })
	requireNoAllocs(t, "RMSProp", func() { RMSProp(w, m, v, nil, g, RMSPropParams[float32]{LR: 0.1, Epsilon: 1}) })
	requireNoAllocs(t, "Ftrl", func() { Ftrl(w, m, v, g, FtrlParams[float32]{LR: 0.1, LRPower: -0.5}) })
}

func BenchmarkOptimizers(b *testing.B) {
	const n = 548_000
	w, m, v, g := make([]float32, n), make([]float32, n), make([]float32, n), vector[float32](newRand(1), n)
	b.Run("adam", func(b *testing.B) {
		b.SetBytes(28 * n)
		for b.Loop() {
			Adam(w, m, v, g, AdamParams[float32]{LR: 1e-9, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7})
		}
	})
	b.Run("momentum", func(b *testing.B) {
		b.SetBytes(20 * n)
		for b.Loop() {
			Momentum(w, m, g, 1e-9, 0.9, false)
		}
	})
	b.Run("adagrad", func(b *testing.B) {
		b.SetBytes(20 * n)
		for b.Loop() {
			AdagradV2(w, v, g, 1e-9, 1e-7)
		}
	})
}
