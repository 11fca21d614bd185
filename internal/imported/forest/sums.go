package forest

import (
	"math"

	y "github.com/goestimator/goestimator/internal/format/yggdrasil"
)

// sums combines the leaves that an example reaches into its predictions.
type sums struct {
	width   int // outputs per example
	predict func(f *Forest, leaves []int32, out []float32)
}

// newSums returns the sums for the engine.
func (f *Forest) newSums() sums {
	switch {
	case f.Boosted && f.Loss == y.MultinomialLogLikelihood:
		return sums{f.TreesPerStep, (*Forest).boostedClasses}
	case f.Boosted && f.Task == y.Classification && f.Probabilities:
		return sums{2, func(f *Forest, leaves []int32, out []float32) {
			f.boosted(leaves, out[:1])
			f.two(out)
		}}
	case f.Boosted:
		return sums{1, (*Forest).boosted}
	case f.Task == y.CategoricalUplift && f.engine != slow:
		return sums{f.classes() - 1, (*Forest).uplift}
	case f.Task == y.CategoricalUplift, f.Task == y.NumericalUplift:
		return sums{f.Effects, (*Forest).uplift}
	case f.Task == y.Regression:
		return sums{1, (*Forest).regression}
	case f.classes() == 2 && f.Probabilities:
		return sums{2, (*Forest).votesOfTwo}
	case f.classes() == 2:
		return sums{1, (*Forest).votesOfTwo}
	}
	return sums{f.classes(), (*Forest).votesOfMany}
}

// two sets both outputs from the first one, the probability of the second class.
func (f *Forest) two(out []float32) {
	p := out[0]
	if f.engine != slow {
		p = clamp(p)
	}
	out[0], out[1] = clamp(1-p), clamp(p)
}

// clamp returns p clamped to [0, 1]. NaN stays NaN.
func clamp(p float32) float32 {
	switch {
	case p < 0:
		return 0
	case p > 1:
		return 1
	}
	return p
}

func exp32(x float32) float32 { return float32(math.Exp(float64(x))) }

// boosted computes one output of boosted trees.
func (f *Forest) boosted(leaves []int32, out []float32) {
	probability := f.Task == y.Classification
	if f.engine == slow {
		sum := float64(f.Initial[0])
		for _, l := range leaves {
			sum += float64(f.Nodes[l].Value)
		}
		switch {
		case f.Loss == y.Poisson:
			sum = math.Exp(min(max(sum, -19), 19))
		case probability && !f.Logits:
			sum = 1 / (1 + math.Exp(-sum))
		}
		out[0] = float32(sum)
		return
	}
	var sum float32
	if f.engine == quickScorer {
		sum = f.Initial[0]
	}
	for _, l := range leaves {
		sum += f.Nodes[l].Value
	}
	if f.engine != quickScorer {
		sum += f.Initial[0]
	}
	switch {
	case f.Logits && f.engine == quickScorer: // the other fast engines return probabilities nevertheless
	case f.Loss == y.Poisson:
		sum = exp32(min(max(sum, -19), 19))
	case probability:
		sum = clamp(1 / (1 + exp32(-sum)))
	}
	out[0] = sum
}

// boostedClasses computes the outputs of boosted trees; each tree adds to one class, in turn. Initial predictions are ignored.
func (f *Forest) boostedClasses(leaves []int32, out []float32) {
	clear(out)
	for i, l := range leaves {
		out[i%len(out)] += f.Nodes[l].Value
	}
	var sum float32
	for i, v := range out {
		if !f.Logits {
			out[i] = exp32(v)
		}
		sum += out[i]
	}
	by := 1 / sum
	if f.engine == slow && !(sum > 0) {
		by = 0
	}
	for i := range out {
		switch {
		case !f.Logits:
			out[i] *= by
		case f.engine == slow: // it treats logits as counts
			out[i] /= sum
		}
		if f.engine == slow && f.Probabilities {
			out[i] = clamp(out[i])
		}
	}
}

// regression computes the mean over the trees of a random forest.
func (f *Forest) regression(leaves []int32, out []float32) {
	if f.engine == slow {
		var sum float64
		for _, l := range leaves {
			sum += float64(f.Nodes[l].Value)
		}
		out[0] = float32(sum / float64(len(leaves)))
		return
	}
	by := float32(len(leaves))
	out[0] = 0
	for _, l := range leaves {
		out[0] += f.Nodes[l].Value / by
	}
}

// uplift computes the mean effects of the treatments.
func (f *Forest) uplift(leaves []int32, out []float32) {
	by := float32(len(leaves))
	clear(out)
	for _, l := range leaves {
		effects := f.Weights[f.Nodes[l].First:][:len(out)]
		for i, v := range effects {
			if f.engine != slow {
				v /= by
			}
			out[i] += v
		}
	}
	if f.engine == slow {
		for i := range out {
			out[i] /= by
		}
	}
}

// votesOfTwo computes the outputs of a random forest of two classes.
func (f *Forest) votesOfTwo(leaves []int32, out []float32) {
	if f.engine == slow {
		f.counted(leaves, out, 3-len(out))
		return
	}
	var p float32
	for _, l := range leaves {
		p += f.share(&f.Nodes[l], 2, len(leaves))
	}
	out[0] = clamp(p)
	if len(out) == 2 {
		f.two(out)
	}
}

// votesOfMany computes the outputs of a random forest of several classes.
func (f *Forest) votesOfMany(leaves []int32, out []float32) {
	if f.engine == slow {
		f.counted(leaves, out, 1)
		return
	}
	clear(out)
	for _, l := range leaves {
		if n := &f.Nodes[l]; f.WinnerTakeAll {
			out[n.Class-1] += 1 / float32(len(leaves))
		} else {
			for i := range out {
				out[i] += f.share(n, i+1, len(leaves))
			}
		}
	}
	for i, p := range out {
		out[i] = clamp(p)
	}
}

// share returns what a leaf adds to the probability of a class if there are that many trees.
func (f *Forest) share(n *y.Node, class, trees int) float32 {
	switch {
	case !f.WinnerTakeAll:
		counts := f.Counts[n.First:n.End]
		return float32(counts[class] / (counts[len(counts)-1] * float64(trees)))
	case int(n.Class) == class:
		return 1 / float32(trees)
	}
	return 0
}

// counted computes the probabilities of classes from first on, as the slow engine does: it counts, and divides at the end.
func (f *Forest) counted(leaves []int32, out []float32, first int) {
	clear(out)
	var total float32
	for _, l := range leaves {
		n := &f.Nodes[l]
		if f.WinnerTakeAll {
			total++
			if at := int(n.Class) - first; at >= 0 && at < len(out) {
				out[at]++
			}
			continue
		}
		counts := f.Counts[n.First:n.End]
		sum := counts[len(counts)-1]
		if sum == 0 {
			continue
		}
		total++
		for i := range out {
			out[i] = float32(float64(out[i]) + counts[i+first]/sum)
		}
	}
	for i := range out {
		if out[i] /= total; f.Probabilities {
			out[i] = clamp(out[i])
		}
	}
}
