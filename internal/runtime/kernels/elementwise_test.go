package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/ops/scalar"
	"pgregory.net/rapid"
)

// special are values at which a vector kernel is most likely wrong.
var special = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.625, 0.625, 6, 7, -87, -88.5, -103.9, -110, 88, 88.7, 89, 100,
	1e-30, -1e-30, 1e-40, 1e30, -1e30, math.Inf(1), math.Inf(-1), math.NaN()}

var unaryReference = map[UnaryOp]func(float64) float64{
	Neg:          func(x float64) float64 { return -x },
	Abs:          math.Abs,
	Sign:         sign[float64],
	Square:       func(x float64) float64 { return x * x },
	Sqrt:         math.Sqrt,
	Rsqrt:        func(x float64) float64 { return 1 / math.Sqrt(x) },
	Reciprocal:   func(x float64) float64 { return 1 / x },
	Relu:         func(x float64) float64 { return math.Max(x, 0) },
	Relu6:        func(x float64) float64 { return math.Min(math.Max(x, 0), 6) },
	Floor:        math.Floor,
	Ceil:         math.Ceil,
	Round:        math.RoundToEven,
	NearestBrain: rounded(RoundBrain),
	CutBrain:     rounded(TruncateBrain),
	NearestHalf:  rounded(RoundHalf),
	Exp:          math.Exp,
	Log:          math.Log,
	Log1p:        math.Log1p,
	Expm1:        math.Expm1,
	Sigmoid:      func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	Tanh:         math.Tanh,
	Softplus:     scalar.Softplus,
	Elu:          scalar.Elu,
	Softsign:     func(x float64) float64 { return x / (1 + math.Abs(x)) },
	Sin:          math.Sin,
	Cos:          math.Cos,
	Erf:          math.Erf,
}

func rounded(f func(float32) float32) func(float64) float64 {
	return func(x float64) float64 { return float64(f(float32(x))) }
}

var binaryReference = map[BinaryOp]func(a, b float64) float64{
	Add:               func(a, b float64) float64 { return a + b },
	Sub:               func(a, b float64) float64 { return a - b },
	Mul:               func(a, b float64) float64 { return a * b },
	Div:               func(a, b float64) float64 { return a / b },
	Max:               func(a, b float64) float64 { return max(a, b) }, // NaN if either is NaN, infinite or not
	Min:               func(a, b float64) float64 { return min(a, b) },
	SquaredDifference: func(a, b float64) float64 { return (a - b) * (a - b) },
	DivNoNan: func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	},
	ReluGrad: func(d, x float64) float64 {
		if x > 0 {
			return d
		}
		return d * 0
	},
	Relu6Grad: func(d, x float64) float64 {
		if x > 0 && x < 6 {
			return d
		}
		return d * 0
	},
	SigmoidGrad:    func(d, y float64) float64 { return d * y * (1 - y) },
	TanhGrad:       func(d, y float64) float64 { return d * (1 - y*y) },
	SqrtGrad:       orZero(func(d, y float64) float64 { return d * 0.5 / y }),
	RsqrtGrad:      orZero(func(d, y float64) float64 { return d * -0.5 * y * y * y }),
	ReciprocalGrad: orZero(func(d, y float64) float64 { return -d * y * y }),
	EluGrad: func(d, y float64) float64 {
		if y < 0 {
			return d * (y + 1)
		}
		return d
	},
	SoftplusGrad: func(d, x float64) float64 { return d / (1 + math.Exp(-x)) },
	Pow:          math.Pow,
}

// orZero returns f, except that the result is 0 if the gradient d is 0.
func orZero(f func(d, y float64) float64) func(d, y float64) float64 {
	return func(d, y float64) float64 {
		if d != 0 {
			return f(d, y)
		}
		return 0
	}
}

// edgeValues are values at which gradients are not smooth. Products of two are in range.
var edgeValues = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 6, -6, math.Inf(1), math.Inf(-1), math.NaN()}

// mixture draws ordinary numbers and special ones.
func mixture[T Float](t *rapid.T, n int, specials []float64) []T {
	r := newRand(rapid.Uint64().Draw(t, "seed"))
	x := vector[T](r, n)
	for i := range x {
		x[i] *= 8
	}
	for range min(n, 2*len(specials)) {
		x[r.IntN(n)] = T(specials[r.IntN(len(specials))])
	}
	return x
}

// tiny is the allowed absolute error of a float32 result, for subnormal rounding.
const tiny = 1e-37

func testUnary[T Float](t *testing.T) {
	for op := range unaryCount {
		rapid.Check(t, func(t *rapid.T) {
			x := mixture[T](t, rapid.IntRange(0, 200).Draw(t, "n"), special)
			want := make([]float64, len(x))
			for i, v := range x {
				want[i] = unaryReference[op](float64(v))
				if r := float64(T(want[i])); math.IsInf(r, 0) {
					want[i] = r // too large for T
				}
			}
			y := vector[T](newRand(2), len(x))
			Unary(op, y, x)
			requireClose(t, fmt.Sprint("op ", op), y, want, tolerance[T](0)/4, tiny)
			Unary(op, x, x)
			requireClose(t, fmt.Sprint("in place, op ", op), x, want, tolerance[T](0)/4, tiny)
		})
	}
}

func TestUnary(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testUnary[float32])
		t.Run("float64", testUnary[float64])
	})
}

// TestTranscendentalAccuracy samples the range densely: the relative error is at most 3e-7 (2.5 units in the last place).
func TestTranscendentalAccuracy(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		var x []float32
		for v := -88.0; v < 88; v += 0.00137 {
			x = append(x, float32(v), float32(v/100))
		}
		y := make([]float32, len(x))
		for _, op := range []UnaryOp{Exp, Sigmoid, Tanh, Log, Log1p, Softplus, Erf, Sin, Cos} {
			Unary(op, y, x)
			worst := 0.0
			for i, v := range x {
				w := unaryReference[op](float64(v))
				if w != 0 && math.Abs(w) > 1.2e-38 {
					worst = max(worst, math.Abs(float64(y[i])-w)/math.Abs(w))
				}
			}
			if worst > 3e-7 {
				t.Errorf("op %d: relative error %g", op, worst)
			}
		}
	})
}

// TestSineOfTurns tests angles near zeros of sine or cosine, and angles that are too large for the kernels.
func TestSineOfTurns(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for turns := 1; turns < 50000; turns += 100 {
			x := make([]float32, 100)
			for i := range x {
				x[i] = float32(float64(turns+i) * math.Pi / 2)
			}
			y, want := make([]float32, len(x)), make([]float64, len(x))
			for _, op := range []UnaryOp{Sin, Cos} {
				Unary(op, y, x)
				for i, v := range x {
					want[i] = unaryReference[op](float64(v))
				}
				requireClose(t, fmt.Sprint("op ", op, " from turn ", turns), y, want, 3e-7, 0)
			}
		}
	})
}

func testBinary[T Float](t *testing.T) {
	for op := range binaryCount {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 200).Draw(t, "n")
			specials := special
			if op >= ReluGrad || op == Mul || op == SquaredDifference {
				specials = edgeValues
			}
			a, b := mixture[T](t, n, specials), mixture[T](t, n, specials)
			k := rapid.SampledFrom([]T{0, -2, 3, 0.5}).Draw(t, "k")
			f := binaryReference[op]
			both, right, left := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				both[i] = float64(T(f(float64(a[i]), float64(b[i]))))
				right[i] = float64(T(f(float64(a[i]), float64(k))))
				left[i] = float64(T(f(float64(k), float64(b[i]))))
			}
			y := vector[T](newRand(2), n)
			tol := tolerance[T](0)
			scale := 1.0
			if op == SigmoidGrad || op == TanhGrad {
				scale = 100 // cancellation in 1-y
			}
			Binary(op, y, a, b)
			requireClose(t, fmt.Sprint("op ", op), y, both, tol, scale)
			BinaryScalar(op, y, a, k)
			requireClose(t, fmt.Sprint("scalar right, op ", op), y, right, tol, scale)
			ScalarBinary(op, y, k, b)
			requireClose(t, fmt.Sprint("scalar left, op ", op), y, left, tol, scale)
			Binary(op, a, a, b)
			requireClose(t, fmt.Sprint("in place, op ", op), a, both, tol, scale)
		})
	}
}

func TestBinary(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testBinary[float32])
		t.Run("float64", testBinary[float64])
	})
}

// TestBroadcastColAsBinary: a broadcast column gives the same bits as whole vectors, also for rows of few columns.
func TestBroadcastColAsBinary(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, cols := rapid.IntRange(0, 20).Draw(t, "rows"), rapid.IntRange(1, 2*narrow).Draw(t, "columns")
			x, v := mixture[float32](t, rows*cols, special), mixture[float32](t, rows, special)
			if rows > 2 {
				v[rows/2] = 0
			}
			whole := make([]float32, rows*cols)
			for i := range whole {
				whole[i] = v[i/cols]
			}
			got, want := make([]float32, rows*cols), make([]float32, rows*cols)
			for _, op := range []BinaryOp{Add, Sub, Mul, Div, DivNoNan, Max, SquaredDifference} {
				BroadcastCol(op, got, x, v, rows, cols)
				Binary(op, want, x, whole)
				for i := range want {
					if math.Float32bits(got[i]) != math.Float32bits(want[i]) && !(got[i] != got[i] && want[i] != want[i]) {
						t.Fatalf("op %d of [%d,%d], element %d: got %v, want %v", op, rows, cols, i, got[i], want[i])
					}
				}
			}
		})
	})
}

func TestMaxKeepsNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		nan := math.NaN()
		for _, op := range []BinaryOp{Max, Min} {
			a, b := make([]float64, 40), make([]float64, 40)
			for i := range a {
				a[i], b[i] = 1, nan
				if i%2 == 0 {
					a[i], b[i] = nan, 1
				}
			}
			Binary(op, a, a, b)
			for i, v := range a {
				if !math.IsNaN(v) {
					t.Fatalf("element %d is %v, want NaN", i, v)
				}
			}
		}
	})
}

func testLeakyAndAxpy[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "n")
		x, y := mixture[T](t, n, nil), mixture[T](t, n, nil)
		leaky, grad, sum := make([]float64, n), make([]float64, n), make([]float64, n)
		for i, v := range x {
			slope := 1.0
			if v <= 0 {
				slope = 0.25
			}
			leaky[i], grad[i] = slope*float64(v), slope*float64(y[i])
			sum[i] = float64(y[i]) + 0.3*float64(v)
		}
		got := make([]T, n)
		LeakyRelu(got, x, 0.25)
		requireClose(t, "leaky relu", got, leaky, tolerance[T](0), 1)
		LeakyReluGrad(got, y, x, 0.25)
		requireClose(t, "leaky relu gradient", got, grad, tolerance[T](0), 1)
		Axpy(0.3, x, y)
		requireClose(t, "axpy", y, sum, tolerance[T](0), 1)
	})
}

func TestLeakyAndAxpy(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testLeakyAndAxpy[float32])
		t.Run("float64", testLeakyAndAxpy[float64])
	})
}

func TestElementwiseDoesNotAllocate(t *testing.T) {
	x := vector[float32](newRand(1), 100_000)
	y := vector[float32](newRand(2), 100_000)
	requireNoAllocs(t, "Unary", func() { Unary(Relu, y, x) })
	requireNoAllocs(t, "Exp", func() { Unary(Exp, y, x) })
	requireNoAllocs(t, "Binary", func() { Binary(Add, y, x, y) })
	requireNoAllocs(t, "BinaryScalar", func() { BinaryScalar(Max, y, x, 3) })
	requireNoAllocs(t, "ScalarBinary", func() { ScalarBinary(Sub, y, 1, x) })
	requireNoAllocs(t, "Axpy", func() { Axpy(2, x, y) })
	requireNoAllocs(t, "small", func() { Binary(Add, y[:4], x[:4], y[:4]) })
}

func BenchmarkElementwise(b *testing.B) {
	const n = 548_000
	x, y, z := vector[float32](newRand(1), n), vector[float32](newRand(2), n), make([]float32, n)
	run := func(name string, bytes int, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(bytes * n))
			for b.Loop() {
				f()
			}
		})
	}
	run("add", 12, func() { Binary(Add, z, x, y) })
	run("reluGrad", 12, func() { Binary(ReluGrad, z, x, y) })
	run("relu", 8, func() { Unary(Relu, z, x) })
	run("exp", 8, func() { Unary(Exp, z, x) })
	run("sigmoid", 8, func() { Unary(Sigmoid, z, x) })
	run("tanh", 8, func() { Unary(Tanh, z, x) })
	run("erf", 8, func() { Unary(Erf, z, x) })
	run("sin", 8, func() { Unary(Sin, z, x) })
	run("scale", 8, func() { BinaryScalar(Mul, z, x, 2) })
	run("axpy", 12, func() { Axpy(0, x, y) })
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			Binary(Add, z[:1], x[:1], y[:1])
		}
	})
}
