package trees

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// rankError returns the largest error of a sketch's ranks, as a share of the weight.
func rankError(all []entry, values []float32, weights []float32) float64 {
	type point struct{ v, w float64 }
	points, total := make([]point, 0, len(values)), 0.0
	for i, v := range values {
		w := 1.0
		if weights != nil {
			w = float64(weights[i])
		}
		points, total = append(points, point{float64(v), w}), total+w
	}
	slices.SortFunc(points, func(a, b point) int {
		if a.v < b.v {
			return -1
		} else if a.v > b.v {
			return 1
		}
		return 0
	})
	worst, below, at := 0.0, 0.0, 0
	for _, e := range all {
		for at < len(points) && points[at].v < e.V {
			below += points[at].w
			at++
		}
		with := below
		for i := at; i < len(points) && points[i].v == e.V; i++ {
			with += points[i].w
		}
		worst = max(worst, e.Min-below, with-e.Max, (e.Max-e.Min-e.W)/2)
	}
	return worst / total
}

func TestSketchRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draws := map[string]func() float32{
		"uniform": rng.Float32,
		"normal":  func() float32 { return float32(rng.NormFloat64()) },
		"few":     func() float32 { return float32(rng.IntN(7)) },
		"heavy":   func() float32 { return max(0, float32(rng.NormFloat64())-1) },
		"signs":   func() float32 { return float32(math.Exp(rng.NormFloat64()*9)) * float32(1-2*rng.IntN(2)) },
	}
	for name, draw := range draws {
		for _, weighted := range []bool{false, true} {
			const n, epsilon, parts = 60000, 0.02, 3
			values, weights := make([]float32, n), []float32(nil)
			for i := range values {
				values[i] = draw()
				if weighted {
					weights = append(weights, rng.Float32()*3)
				}
			}
			merged := NewSketch(epsilon)
			for p := range parts {
				s := NewSketch(epsilon)
				lo, hi := n*p/parts, n*(p+1)/parts
				if weighted {
					s.Push(values[lo:hi], 1, weights[lo:hi])
				} else {
					s.Push(values[lo:hi], 1, nil)
				}
				b, err := s.AppendBinary(nil)
				if err != nil || len(b) > s.MaxBytes() {
					t.Fatal(len(b), s.MaxBytes(), err)
				}
				if rest, err := merged.MergeBinary(b); err != nil || len(rest) > 0 {
					t.Fatal(rest, err)
				}
			}
			if got := rankError(merged.all(), values, weights); got > epsilon {
				t.Errorf("%s, weighted %v: ranks miss by %v of the weight, expected at most %v", name, weighted, got, epsilon)
			}
			checkBuckets(t, name, merged.Boundaries(50), values, weights)
		}
	}
}

// checkBuckets checks that no bucket is much heavier than its share, except for a number that is heavy by itself.
func checkBuckets(t *testing.T, name string, boundaries, values, weights []float32) {
	t.Helper()
	sums, total := make([]float64, len(boundaries)+1), 0.0
	each := map[float32]float64{}
	heaviest := make([]float64, len(sums))
	for i, v := range values {
		w := 1.0
		if weights != nil {
			w = float64(weights[i])
		}
		b := bucket(boundaries, v)
		sums[b], total = sums[b]+w, total+w
		each[v] += w
		heaviest[b] = max(heaviest[b], each[v])
	}
	for b, sum := range sums {
		if sum-heaviest[b] > total*3/50 {
			t.Errorf("%s: bucket %d of %d has %v of the weight", name, b, len(sums), sum/total)
		}
	}
}

func TestBoundariesOfFewNumbers(t *testing.T) {
	s := NewSketch(0.1)
	s.Push([]float32{3, 1, 2, 2, float32(math.NaN()), float32(math.Inf(1)), 1}, 1, nil)
	if got := s.Boundaries(10); !slices.Equal(got, []float32{2, 3}) {
		t.Errorf("got %v", got)
	}
	if got := NewSketch(0.1).Boundaries(10); got != nil {
		t.Errorf("no numbers: got %v", got)
	}
}

func FuzzSketchMergeBinary(f *testing.F) {
	s := NewSketch(0.1)
	s.Push([]float32{3, 1, 2, 2}, 1, nil)
	b, _ := s.AppendBinary(nil)
	f.Add(b)
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewSketch(0.1)
		if _, err := s.MergeBinary(b); err != nil {
			if !errors.Is(err, ErrSketch) {
				t.Fatal(err)
			}
			return
		}
		if _, err := NewSpace([]Feature{{Name: "x", Boundaries: s.Boundaries(256)}}, 1); err != nil {
			t.Fatal(err)
		}
	})
}
