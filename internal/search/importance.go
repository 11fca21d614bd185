package search

import (
	"cmp"
	"math"
	"slices"
)

// Importance returns for each parameter how closely the metric follows it, from 0 to 1: for a range the absolute value of Spearman's rank
// correlation, for a list the correlation ratio of the ranks. It is NaN with fewer than five trials, or if all values are equal.
func (s *Search) Importance() []float64 {
	out := make([]float64, len(s.spec.Parameters))
	for i, p := range s.spec.Parameters {
		out[i] = math.NaN()
		var places, metric []float64
		for _, r := range s.Ranked() {
			v, ok := r.Got()
			if place := placesOf(p, []Result{r}); ok && len(place) > 0 {
				places, metric = append(places, place...), append(metric, v)
			}
		}
		if len(places) < 5 {
			continue
		}
		if p.listed() {
			out[i] = correlationRatio(places, ranks(metric))
		} else {
			out[i] = math.Abs(correlation(ranks(places), ranks(metric)))
		}
	}
	return out
}

// ranks are the ranks of numbers; equal numbers share the mean of their ranks.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// correlation is Pearson's correlation.
func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy, xx, yy = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx), yy+(y[i]-my)*(y[i]-my)
	}
	return xy / math.Sqrt(xx*yy)
}

// correlationRatio is the square root of the share of y's variance that is between its groups.
func correlationRatio(group, y []float64) float64 {
	m := mean(y)
	members := map[float64][]float64{}
	total, between := 0.0, 0.0
	for i, g := range group {
		members[g] = append(members[g], y[i])
		total += (y[i] - m) * (y[i] - m)
	}
	for _, list := range members {
		d := mean(list) - m
		between += float64(len(list)) * d * d
	}
	return math.Sqrt(between / total)
}
