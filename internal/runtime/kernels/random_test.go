package kernels

import (
	"fmt"
	"math"
	"testing"
)

// TestPhiloxKnownAnswers uses the vectors that the authors of Philox publish with Random123 (philox4x32, 10 rounds).
func TestPhiloxKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		counter, want [4]uint32
		key           [2]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{counter: [4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, key: [2]uint32{0xffffffff, 0xffffffff},
			want: [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{counter: [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, key: [2]uint32{0xa4093822, 0x299f31d0},
			want: [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		p := philox{key: c.key, counter: c.counter}
		if got := p.next(); got != c.want {
			t.Errorf("counter %x: got %x, want %x", c.counter, got, c.want)
		}
	}
}

// seeded returns the stream of TensorFlow's StatelessRandomGetKeyCounter for a seed, which is scrambled with a key of its own.
func seeded(lo, hi uint64) Rand {
	p := newPhilox(0x02461e29_3ec8f720, [2]uint64{lo, hi})
	w := p.next()
	return Rand{Key: uint64(w[0]) | uint64(w[1])<<32, Counter: [2]uint64{0, uint64(w[2]) | uint64(w[3])<<32}}
}

// TestTensorFlowValues compares with the numbers that TensorFlow 2 prints for tf.random.stateless_normal([3], seed=[1, 2]).
func TestTensorFlowValues(t *testing.T) {
	got := make([]float32, 3)
	Normal(got, seeded(1, 2))
	requireClose(t, "stateless normal", got, []float64{0.5441101, 0.20738031, 0.07356433}, 1e-6, 0)
}

func TestSkipCarries(t *testing.T) {
	p := philox{counter: [4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 7}}
	p.skip(2)
	if want := [4]uint32{1, 0, 0, 8}; p.counter != want {
		t.Errorf("got %x, want %x", p.counter, want)
	}
}

func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(x))
}

func testDistributions[T Float](t *testing.T) {
	const n = 100_003
	x := make([]T, n)
	r := Rand{Key: 42, Counter: [2]uint64{0, 9}}
	for _, c := range []struct {
		name           string
		fill           func([]T, Rand)
		mean, variance float64
		bound          float64
	}{
		{"uniform", Uniform[T], 0.5, 1.0 / 12, 1},
		{"normal", Normal[T], 0, 1, 7},
		{"truncated normal", TruncatedNormal[T], 0, 0.7737, 2},
	} {
		c.fill(x, r)
		mean, variance := moments(widen(x))
		if math.Abs(mean-c.mean) > 0.015 || math.Abs(variance-c.variance) > 0.015 {
			t.Errorf("%s: mean %v, variance %v", c.name, mean, variance)
		}
		for i, v := range x {
			if math.Abs(float64(v)) >= c.bound || (c.name == "uniform" && v < 0) {
				t.Fatalf("%s: element %d is %v", c.name, i, v)
			}
		}
		short := make([]T, 1001)
		c.fill(short, r)
		requireBits(t, c.name+", a prefix", short, x[:1001])
		requireNoAllocs(t, c.name, func() { c.fill(x, r) })
	}
}

func TestDistributions(t *testing.T) {
	t.Run("float32", testDistributions[float32])
	t.Run("float64", testDistributions[float64])
}

func TestRandomIsIndependentOfThreads(t *testing.T) {
	withProcs(t, 4)
	defer SetThreads(0)
	want := make([]float32, 50_000)
	r := Rand{Key: 1}
	TruncatedNormal(want, r)
	for threads := 1; threads <= 4; threads++ {
		SetThreads(threads)
		got := make([]float32, len(want))
		TruncatedNormal(got, r)
		requireBits(t, fmt.Sprint(threads, " threads"), got, want)
	}
}

// atPortable returns fill's numbers without vector kernels.
func atPortable[T Float](fill func([]T, Rand), n int, r Rand) []T {
	was := ActiveLevel()
	defer SetLevel(was)
	SetLevel(Portable)
	x := make([]T, n)
	fill(x, r)
	return x
}

func testLevelsAgree[T Float](t *testing.T) {
	for name, fill := range map[string]func([]T, Rand){"uniform": Uniform[T], "normal": Normal[T], "truncated": TruncatedNormal[T]} {
		for _, c := range []struct {
			n int
			r Rand
		}{
			{20_011, Rand{Key: 0x0123456789abcdef, Counter: [2]uint64{5, 1 << 63}}},
			{9_001, Rand{Key: 3, Counter: [2]uint64{1<<32 - 77, 0xfedcba9876543210}}},
			{9_001, Rand{Key: ^uint64(0), Counter: [2]uint64{^uint64(0) - 1500, 1<<32 - 1}}},
		} {
			got, want := make([]T, c.n), atPortable(fill, c.n, c.r)
			fill(got, c.r)
			requireBits(t, fmt.Sprintf("%s of %+v", name, c.r), got, want)
		}
		r := Rand{Key: 11, Counter: [2]uint64{^uint64(0) - 9, 4}}
		want := atPortable(fill, 200, r)
		for n := range 150 {
			got := make([]T, n+2)
			fill(got[1:n+1], r)
			requireBits(t, fmt.Sprint(name, " of length ", n), got[1:n+1], want)
			if got[0] != 0 || got[n+1] != 0 {
				t.Fatalf("%s of length %d writes beyond its slice", name, n)
			}
		}
	}
}

// TestLevelsAgree checks that random bits depend only on the stream, whatever its length and wherever the counter carries.
func TestLevelsAgree(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testLevelsAgree[float32])
		t.Run("float64", testLevelsAgree[float64])
	})
}

func BenchmarkRandom(b *testing.B) {
	x := make([]float32, 1<<17)
	for name, f := range map[string]func([]float32, Rand){"uniform": Uniform[float32], "normal": Normal[float32],
		"truncated": TruncatedNormal[float32]} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(4 << 17)
			for b.Loop() {
				f(x, Rand{})
			}
		})
	}
}
