package trees

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// reference is the algorithm in its plainest form: float64, no bins, no partition, a new sum for every candidate. It
// follows the splits of an ensemble and checks by how much they miss the best ones.
type reference struct {
	c      *Config
	space  *Space
	x      []float32
	labels []float64
	grad   func(logit, label float64) (g, h float64)
	base   []float64 // [rows, dim]
}

// candidates returns every column and threshold that a split may have.
func (r *reference) candidates() (columns []int, thresholds []float32) {
	for _, f := range r.space.Features {
		for _, b := range f.Boundaries {
			columns, thresholds = append(columns, f.First), append(thresholds, b)
		}
		for id := range f.Width {
			columns, thresholds = append(columns, f.First+id), append(thresholds, present)
		}
	}
	return columns, thresholds
}

func (r *reference) rows() int { return len(r.x) / r.space.Width }

// sums returns gradients and hessians, [dim, 2], of the node's rows that go left, and of all its rows.
func (r *reference) sums(at []int, node int, logits []float64, column int, threshold float32) (left, all []float64) {
	left, all = make([]float64, r.c.Dim*2), make([]float64, r.c.Dim*2)
	for row := range r.rows() {
		if at[row] != node {
			continue
		}
		for k := range r.c.Dim {
			i := row*r.c.Dim + k
			g, h := r.grad(logits[i], r.labels[i])
			all[2*k], all[2*k+1] = all[2*k]+g, all[2*k+1]+h
			if !(r.x[row*r.space.Width+column] >= threshold) {
				left[2*k], left[2*k+1] = left[2*k]+g, left[2*k+1]+h
			}
		}
	}
	return left, all
}

func (r *reference) score(s []float64) float64 {
	n, sum := float64(r.rows()), 0.0
	for k := 0; k < len(s); k += 2 {
		g := math.Copysign(math.Max(math.Abs(s[k])-r.c.L1*n, 0), s[k])
		if s[k+1]+r.c.L2*n > 0 {
			sum += g * g / (s[k+1] + r.c.L2*n)
		}
	}
	return sum
}

func (r *reference) step(g, h float64) float64 {
	n := float64(r.rows())
	return -math.Copysign(math.Max(math.Abs(g)-r.c.L1*n, 0), g) / (h + r.c.L2*n)
}

// gain returns the gain of a split, -1 if a side is too light.
func (r *reference) gain(left, all []float64) float64 {
	right := make([]float64, len(all))
	var lw, rw float64
	for i := range all {
		right[i] = all[i] - left[i]
		if i%2 == 1 {
			lw, rw = lw+left[i], rw+right[i]
		}
	}
	least := math.Max(r.c.MinNodeWeight*float64(r.rows()), 1e-9*(lw+rw))
	if lw < least || rw < least {
		return -1
	}
	return r.score(left) + r.score(right) - r.score(all)
}

// follow checks a finished, unpruned tree, layer by layer.
func (r *reference) follow(t *testing.T, e *Ensemble, tree int) {
	t.Helper()
	root := tree * r.c.treeNodes()
	at := make([]int, r.rows())
	for i := range at {
		at[i] = root
	}
	logits := append([]float64(nil), r.base...)
	layer := []int{root}
	for depth := 0; depth < r.c.Depth && len(layer) > 0; depth++ {
		var next []int
		for _, n := range layer {
			r.compare(t, e, n, at, logits)
			if left := int(e.Left[n]); left != n {
				next = append(next, left, left+1)
			}
		}
		for row := range at {
			if n := at[row]; int(e.Left[n]) != n {
				at[row] = int(e.leafStep(r.x[row*r.space.Width:], int32(n)))
			}
			for k := range r.c.Dim {
				logits[row*r.c.Dim+k] = r.base[row*r.c.Dim+k] + float64(e.Values[at[row]*r.c.Dim+k])
			}
		}
		layer = next
	}
	r.base = logits
}

func (e *Ensemble) leafStep(x []float32, n int32) int32 {
	if x[e.Feature[n]] >= e.Threshold[n] {
		return e.Left[n] + 1
	}
	return e.Left[n]
}

// compare checks one node's split and its children's values.
func (r *reference) compare(t *testing.T, e *Ensemble, n int, at []int, logits []float64) {
	t.Helper()
	columns, thresholds := r.candidates()
	best := 0.0
	scale := 0.0
	for i := range columns {
		left, all := r.sums(at, n, logits, columns[i], thresholds[i])
		best = math.Max(best, r.gain(left, all))
		scale = r.score(all)
	}
	tolerance := 2e-3*best + 1e-4*scale + 1e-4
	if int(e.Left[n]) == n {
		if best > tolerance {
			t.Errorf("node %d is not split, expected a gain of %v", n, best)
		}
		return
	}
	left, all := r.sums(at, n, logits, int(e.Feature[n]), e.Threshold[n])
	gain := r.gain(left, all)
	if got := float64(e.Gains[n]) * float64(r.rows()); gain < best-tolerance || math.Abs(got-gain) > tolerance {
		t.Errorf("node %d: column %d below %v: gain %v, is %v, best %v", n, e.Feature[n], e.Threshold[n], got, gain, best)
	}
	for k := range r.c.Dim {
		before, to := e.Values[n*r.c.Dim+k], int(e.Left[n])
		for side, s := range [][2]float64{{left[2*k], left[2*k+1]}, {all[2*k] - left[2*k], all[2*k+1] - left[2*k+1]}} {
			want := float64(before) + r.c.LearningRate*r.step(s[0], s[1])
			if got := float64(e.Values[(to+side)*r.c.Dim+k]); math.Abs(got-want) > 2e-3*math.Abs(want)+2e-3 {
				t.Errorf("node %d: value %d is %v, expected %v", to+side, k, got, want)
			}
		}
	}
}

// toy returns examples with ordered and categorical features and NaN, and labels that depend on them.
func toy(rng *rand.Rand, rows, dim int) (space *Space, x []float32, labels []float32) {
	const width = 3 + 5 + 300
	features := []Feature{
		{Name: "a", First: 0, Boundaries: []float32{-1, -0.5, 0, 0.25, 0.5, 1}},
		{Name: "b", First: 1, Boundaries: []float32{0.1, 0.5}},
		{Name: "c", First: 2},
		{Name: "job", First: 3, Width: 5},
		{Name: "words", First: 8, Width: 300},
	}
	space, err := NewSpace(features, width)
	if err != nil {
		panic(err)
	}
	x = make([]float32, rows*width)
	labels = make([]float32, rows*dim)
	for r := range rows {
		row := x[r*width : (r+1)*width]
		row[0], row[1], row[2] = float32(rng.NormFloat64()), rng.Float32(), rng.Float32()
		if rng.IntN(10) == 0 {
			row[0] = float32(math.NaN())
		}
		job := rng.IntN(6)
		if job < 5 {
			row[3+job] = 1
		}
		for range rng.IntN(4) {
			row[8+rng.IntN(3)*130] = 1
		}
		for k := range dim {
			v := 0.5
			if row[0] >= 0.25 != (job == 2) {
				v = 0.9
			}
			if row[8+130] > 0 && k == 0 {
				v -= 0.45
			}
			if rng.Float64() < v {
				labels[r*dim+k] = 1
			}
		}
	}
	return space, x, labels
}

func TestTreesAreThoseOfTheReference(t *testing.T) {
	for seed, c := range []Config{
		{Trees: 3, Depth: 3, LearningRate: 0.3, Dim: 1},
		{Trees: 3, Depth: 4, LearningRate: 0.1, Dim: 1, L1: 0.002, L2: 0.01, MinNodeWeight: 0.003},
		{Trees: 2, Depth: 3, LearningRate: 0.5, Dim: 3, L2: 0.001},
		{Trees: 2, Depth: 3, LearningRate: 0.5, Dim: 2, L1: 0.001, MinNodeWeight: 0.01},
	} {
		for _, loss := range []string{"logistic", "squared"} {
			t.Run(fmt.Sprint(seed, loss), func(t *testing.T) {
				rows := 400 + seed*500
				space, x, labels := toy(rand.New(rand.NewPCG(uint64(seed), 7)), rows, c.Dim)
				ref := &reference{c: &c, space: space, x: x, base: make([]float64, rows*c.Dim), labels: make([]float64, len(labels))}
				for i, v := range labels {
					ref.labels[i] = float64(v)
				}
				var l Loss = &Squared{Labels: labels, Dim: c.Dim}
				ref.grad = func(z, y float64) (float64, float64) { return 2 * (z - y), 2 }
				if loss == "logistic" {
					l = &Logistic{Labels: labels, Dim: c.Dim}
					ref.grad = func(z, y float64) (float64, float64) {
						p := 1 / (1 + math.Exp(-z))
						return p - y, p * (1 - p)
					}
				}
				e := NewEnsemble(&c)
				tr, err := NewTrainer(&c, space, e, x, rows, l)
				if err != nil {
					t.Fatal(err)
				}
				for !e.Done(&c) {
					if err := tr.Layer(); err != nil {
						t.Fatal(err)
					}
				}
				if err := e.Check(&c, space.Width); err != nil {
					t.Fatal(err)
				}
				for tree := range c.Trees {
					ref.follow(t, e, tree)
				}
				out := make([]float32, rows*c.Dim)
				e.Predict(&c, x, rows, space.Width, out)
				for i, v := range out {
					if math.Abs(float64(v)-ref.base[i]) > 1e-5 || v != tr.base[i] {
						t.Fatalf("prediction %d is %v, the trainer's %v, expected %v", i, v, tr.base[i], ref.base[i])
					}
				}
			})
		}
	}
}
