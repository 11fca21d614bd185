package search

import "slices"

// Point is the metric at an evaluation.
type Point struct {
	Step  int64   `json:"step"`
	Value float64 `json:"value"`
}

// leastEnded is how many trials must have ended before others are compared with them.
const leastEnded = 3

// Behind reports whether a trial should be stopped after these evaluations: its best value is worse than the median of the ended trials' running
// averages at the same step (the median stopping rule of Golovin et al., "Google Vizier: A Service for Black-Box Optimization", 2017).
func (s *Search) Behind(curve []Point) bool {
	if !s.spec.MedianStopping || len(curve) == 0 {
		return false
	}
	step, best := curve[len(curve)-1].Step, curve[0].Value
	for _, p := range curve {
		if s.higher(p.Value, best) {
			best = p.Value
		}
	}
	var averages []float64
	for _, r := range s.done {
		if x, ok := average(r.Curve, step); ok && r.Error == "" && !r.Stopped {
			averages = append(averages, x)
		}
	}
	if len(averages) < leastEnded {
		return false
	}
	slices.Sort(averages)
	n := len(averages)
	return s.higher((averages[(n-1)/2]+averages[n/2])/2, best)
}

// average is the mean of the values up to a step; ok is false if there are none.
func average(curve []Point, step int64) (mean float64, ok bool) {
	n := 0.0
	for _, p := range curve {
		if p.Step <= step {
			n++
			mean += (p.Value - mean) / n
		}
	}
	return mean, n > 0
}

// higher reports whether x is better than y.
func (s *Search) higher(x, y float64) bool {
	if s.spec.HigherIsBetter {
		return x > y
	}
	return x < y
}
