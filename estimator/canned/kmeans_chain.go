package canned

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// defaultChain is tf's kmc2_chain_length.
const defaultChain = 200

// chains chooses up to n rows of x by k-MC2 (Bachem, Lucic, Hassani and Krause 2016),
// which draws approximately as k-means++ does, without reading all rows. Each group of
// Chain rows gives one center: the end of a Markov chain over them. If there are fewer
// rows in all, they give one, too. The very first center is the first row, as in tf:
// batches are expected to be shuffled.
func (k *kmeansStep) chains(vars optimizers.StepVariables, x []float32, n int, r *rand.Rand) []float32 {
	d := k.Dimension
	if len(x) == 0 {
		return nil
	}
	centers := slices.Clone(tensor.Values[float32](vars.Value(ClusterCenters))[:k.chosen(vars)*d])
	before := len(centers)
	for i := range max(min(n, len(x)/d/k.Chain), 1) {
		if len(centers) == 0 {
			centers = append(centers, x[:d]...)
			continue
		}
		part := x[i*k.Chain*d : min((i+1)*k.Chain*d, len(x))]
		at := chainEnd(nearestDistances(part, centers, d), r)
		centers = append(centers, part[at*d:(at+1)*d]...)
	}
	return centers[before:]
}

// nearestDistances returns the squared distance of each row to the nearest center.
func nearestDistances(rows, centers []float32, d int) []float64 {
	out := make([]float64, len(rows)/d)
	for i := range out {
		out[i] = math.Inf(1)
		for c := 0; c < len(centers); c += d {
			out[i] = min(out[i], squaredDistance(rows[i*d:(i+1)*d], centers[c:c+d]))
		}
	}
	return out
}

// chainEnd returns the end of a chain over rows. The chain moves to the next row with a
// probability equal to the ratio of its squared distance to the current row's.
func chainEnd(distances []float64, r *rand.Rand) int {
	at := 0
	for i, d := range distances {
		if i > 0 && (distances[at] == 0 || d > r.Float64()*distances[at]) {
			at = i
		}
	}
	return at
}
