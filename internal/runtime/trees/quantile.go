package trees

import "math"

// Quantile returns a number that about a share q, from 0 to 1, of the weight does not exceed: the least number for 0, the
// largest for 1, NaN if there are none. The error of its rank is at most the sketch's error. It is exact while the sketch
// has seen few numbers.
func (s *Sketch) Quantile(q float64) float64 {
	all := s.all()
	if len(all) == 0 {
		return math.NaN()
	}
	if q >= 1 {
		return all[len(all)-1].V
	}
	rank := q * all[len(all)-1].Max
	for _, e := range all {
		if (e.Min+e.W+e.Max)/2 >= rank && e.Max > 0 {
			return e.V
		}
	}
	return all[len(all)-1].V
}
