package canned

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// kmeansStep is the step function of KMeans. While centers are being chosen, its tally
// holds candidates, as records. After that it holds, for each cluster, the sum and the
// number of its points.
type kmeansStep struct {
	Clusters, Dimension int
	Cosine, FullBatch   bool
	Steps               int // of an iteration
	PlusPlus            bool
	Retries             int
	Chain               int // rows of a chain of k-MC2; 0: not used
	Seed                int64
}

func init() {
	optimizers.RegisterStepFunction("kmeans", func(config []byte) (optimizers.StepFunction, error) {
		k := &kmeansStep{}
		if err := json.Unmarshal(config, k); err != nil {
			return nil, err
		}
		if k.Clusters < 1 || k.Dimension < 1 || k.Steps < 1 || k.Chain < 0 {
			return nil, fmt.Errorf("%+v: expected at least one cluster, dimension and step", *k)
		}
		return k, nil
	})
}

var _ optimizers.StepFunction = (*kmeansStep)(nil)

func (k *kmeansStep) initialized(vars optimizers.StepVariables) bool {
	return tensor.Values[bool](vars.Value("initialized"))[0]
}

// Begin returns a different stamp until the centers are chosen.
func (k *kmeansStep) Begin(vars optimizers.StepVariables) (sums int, stamp int64, err error) {
	if !k.initialized(vars) {
		return 0, int64(-1 - k.chosen(vars)), nil
	}
	return k.Clusters * (k.Dimension + 1), 0, nil
}

func (k *kmeansStep) chosen(vars optimizers.StepVariables) int {
	return chosen(tensor.Values[float32](vars.Value(ClusterCenters)), k.Dimension)
}

// Collect adds points to the sums of their clusters.
func (k *kmeansStep) Collect(vars optimizers.StepVariables, args []*tensor.Tensor, t *optimizers.Tally) error {
	x, index := tensor.Values[float32](args[0]), tensor.Values[int64](args[1])
	if !k.initialized(vars) {
		return k.propose(vars, x, t)
	}
	d := k.Dimension
	counts := t.Sums[k.Clusters*d:]
	for i, c := range index {
		counts[c]++
		sum := t.Sums[int(c)*d : (int(c)+1)*d]
		for j, v := range x[i*d : (i+1)*d] {
			sum[j] += float64(v)
		}
	}
	return nil
}

// propose chooses candidates from a batch.
func (k *kmeansStep) propose(vars optimizers.StepVariables, x []float32, t *optimizers.Tally) error {
	have := k.chosen(vars)
	r := rand.New(rand.NewPCG(uint64(k.Seed), uint64(have)))
	var rows []float32
	if k.Chain > 0 {
		rows = k.chains(vars, x, k.Clusters-have, r)
	} else if k.PlusPlus {
		var err error
		if rows, err = k.plusPlus(x, k.Clusters-have, r); err != nil {
			return err
		}
	} else {
		rows = k.random(x, k.Clusters-have, r)
	}
	t.Records = appendFloats(t.Records, rows)
	return nil
}

// Apply chooses centers, or moves them.
func (k *kmeansStep) Apply(vars optimizers.StepVariables, t *optimizers.Tally) error {
	if !k.initialized(vars) {
		return k.choose(vars, t)
	}
	switch {
	case k.FullBatch:
		k.replace(tensor.Values[float32](vars.Change(ClusterCenters)), t)
	case k.Steps == 1:
		k.move(tensor.Values[float32](vars.Change(ClusterCenters)), tensor.Values[int64](vars.Change(updateCounts)), t)
	default:
		k.iterate(vars, t)
	}
	return nil
}

// choose takes candidates in their order until there are enough.
func (k *kmeansStep) choose(vars optimizers.StepVariables, t *optimizers.Tally) error {
	centers, d := tensor.Values[float32](vars.Change(ClusterCenters)), k.Dimension
	candidates, err := floatsOf(t.Records)
	if err != nil {
		return err
	}
	have := k.chosen(vars)
	n := copy(centers[have*d:], candidates) / d
	if k.Cosine {
		for i := have; i < have+n; i++ {
			normalize(centers[i*d : (i+1)*d])
		}
	}
	if u := vars.Value("clusters_updated"); u != nil {
		copy(tensor.Values[float32](vars.Change("clusters_updated")), centers)
	}
	tensor.Values[bool](vars.Change("initialized"))[0] = have+n == k.Clusters
	return nil
}

// replace sets each center to the mean of its points or, like tf, to 0 if it has none.
func (k *kmeansStep) replace(centers []float32, t *optimizers.Tally) {
	d := k.Dimension
	counts := t.Sums[k.Clusters*d:]
	for c, n := range counts {
		row := centers[c*d : (c+1)*d]
		for j := range row {
			row[j] = float32(t.Sums[c*d+j] / (n + 1e-6))
		}
		if k.Cosine {
			normalize(row)
		}
	}
}

// move moves each center towards its new points, by their share of all its points so
// far.
func (k *kmeansStep) move(centers []float32, counts []int64, t *optimizers.Tally) {
	d := k.Dimension
	for c, n := range t.Sums[k.Clusters*d:] {
		if n == 0 {
			continue
		}
		counts[c] += int64(n)
		rate := 1 / float64(counts[c])
		row := centers[c*d : (c+1)*d]
		for j, x := range row {
			row[j] = float32(float64(x) + rate*(t.Sums[c*d+j]-n*float64(x)))
		}
	}
}

// iterate moves a copy of the centers. Every Steps steps, it first copies it back to the
// centers.
func (k *kmeansStep) iterate(vars optimizers.StepVariables, t *optimizers.Tally) {
	updated, counts := tensor.Values[float32](vars.Change("clusters_updated")), tensor.Values[int64](vars.Change(updateCounts))
	left := tensor.Values[int64](vars.Change("update_in_steps"))
	if left[0] > 0 {
		left[0]--
	} else {
		left[0] = int64(k.Steps - 1)
		centers := tensor.Values[float32](vars.Change(ClusterCenters))
		copy(centers, updated)
		if k.Cosine {
			for c := range k.Clusters {
				normalize(centers[c*k.Dimension : (c+1)*k.Dimension])
			}
		}
		clear(counts)
	}
	k.move(updated, counts, t)
}
