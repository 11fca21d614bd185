package canned

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// unchosen is the first number of a center that is not chosen yet: finite, so that
// it passes numeric checks, and as far away as possible.
const unchosen = -math.MaxFloat32

// centersInit initializes a matrix to the given rows, or to unchosen centers.
type centersInit [][]float32

func initialCenters(o KMeans) models.Initializer {
	if o.DistanceMetric != Cosine {
		return centersInit(o.Centers)
	}
	var out centersInit
	for _, c := range o.Centers {
		c = append([]float32(nil), c...)
		normalize(c)
		out = append(out, c)
	}
	return out
}

// Init fills the matrix.
func (c centersInit) Init(t *tensor.Tensor, _ uint64) error {
	x := tensor.Values[float32](t)
	if x == nil || len(t.Shape) != 2 {
		return fmt.Errorf("centers: expected a matrix of float32, got %v%v", t.DType, t.Shape)
	}
	clear(x)
	d := t.Shape[1]
	for i := range t.Shape[0] {
		if i < len(c) {
			copy(x[i*d:(i+1)*d], c[i])
		} else {
			x[i*d] = unchosen
		}
	}
	return nil
}

// truth is the initial value of a bool.
type truth bool

// Init sets all elements.
func (v truth) Init(t *tensor.Tensor, _ uint64) error {
	x := tensor.Values[bool](t)
	for i := range x {
		x[i] = bool(v)
	}
	return nil
}

// normalize scales a vector to length 1, as tf.math.l2_normalize.
func normalize(x []float32) {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	s = 1 / math.Sqrt(max(s, 1e-12))
	for i := range x {
		x[i] = float32(float64(x[i]) * s)
	}
}

// chosen counts the centers that are chosen.
func chosen(centers []float32, d int) int {
	n := 0
	for n*d < len(centers) && centers[n*d] != unchosen {
		n++
	}
	return n
}

// random returns n different rows of x, all if there are no more.
func (k *kmeansStep) random(x []float32, n int, r *rand.Rand) []float32 {
	d := k.Dimension
	if len(x)/d <= n {
		return x
	}
	var out []float32
	for _, i := range r.Perm(len(x) / d)[:n] {
		out = append(out, x[i*d:(i+1)*d]...)
	}
	return out
}

// plusPlus chooses n rows of x by k-means++ (Arthur and Vassilvitskii 2007): a row is
// drawn with a probability proportional to its squared distance to the nearest row
// chosen before. Of several draws, the one that leaves the smallest sum is taken.
func (k *kmeansStep) plusPlus(x []float32, n int, r *rand.Rand) ([]float32, error) {
	d := k.Dimension
	rows := len(x) / d
	if rows < n {
		return nil, fmt.Errorf("kmeans_plus_plus needs a batch of at least num_clusters examples: expected %d, got %d: make the batch larger, or choose %s", n, rows, RandomInit)
	}
	row := func(i int) []float32 { return x[i*d : (i+1)*d] }
	draws := k.Retries + 1
	if k.Retries < 0 {
		draws = 3 + int(math.Log(float64(n)))
	}
	best := r.IntN(rows)
	out := append([]float32(nil), row(best)...)
	nearest := make([]float64, rows) // squared distances to the chosen rows
	for i := range nearest {
		nearest[i] = squaredDistance(row(i), row(best))
	}
	next, least := make([]float64, rows), make([]float64, rows)
	for len(out) < n*d {
		total := math.Inf(1)
		for range draws {
			i := draw(nearest, r)
			sum := 0.0
			for j := range next {
				next[j] = min(nearest[j], squaredDistance(row(j), row(i)))
				sum += next[j]
			}
			if sum < total {
				total, best = sum, i
				next, least = least, next
			}
		}
		copy(nearest, least)
		out = append(out, row(best)...)
	}
	return out, nil
}

// draw returns an index with a probability proportional to its weight.
func draw(weights []float64, r *rand.Rand) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	if !(total > 0) { // all points coincide with chosen rows
		return r.IntN(len(weights))
	}
	at := r.Float64() * total
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func squaredDistance(a, b []float32) float64 {
	s := 0.0
	for i, x := range a {
		d := float64(x) - float64(b[i])
		s += d * d
	}
	return s
}
