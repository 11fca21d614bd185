package assess

import (
	"math"
	"sort"
)

// bins is the number of equal parts of the range 0 to 1.
const bins = 10

// Calibration compares probabilities with outcomes, in equal bins from 0 to 1. A probability on a border belongs to the lower bin.
type Calibration struct {
	Bins []Bin `json:"calibration"` // bins with examples
	// Brier is the mean of (probability - outcome)².
	Brier Number `json:"brier_score"`
	// Error is the mean distance between Predicted and True over the bins, weighted (expected calibration error).
	Error Number `json:"calibration_error"`
}

// Bin is a bin of a calibration.
type Bin struct {
	From      float64 `json:"from"`
	To        float64 `json:"to"`
	Predicted float64 `json:"predicted"` // mean probability
	True      float64 `json:"true"`      // share that came true
	Weight    float64 `json:"weight"`    // examples, or their weights
}

// calibrator sums up probabilities and outcomes.
type calibrator struct {
	weight, predicted, came [bins]float64
	squares                 float64
}

// add counts a probability; came is the share that came true.
func (c *calibrator) add(p, came, weight float64) {
	i := sort.Search(bins-1, func(i int) bool { return p <= float64(i+1)*(1./bins) })
	c.weight[i] += weight
	c.predicted[i] += weight * p
	c.came[i] += weight * came
	c.squares += weight * square(p-came)
}

func (c *calibrator) result() Calibration {
	var out Calibration
	total, distance := 0.0, 0.0
	for i, w := range c.weight {
		if w == 0 {
			continue
		}
		b := Bin{From: float64(i) / bins, To: float64(i+1) / bins, Predicted: c.predicted[i] / w, True: c.came[i] / w, Weight: w}
		out.Bins = append(out.Bins, b)
		total += w
		distance += w * math.Abs(b.Predicted-b.True)
	}
	out.Brier, out.Error = Number(per(c.squares, total)), Number(per(distance, total))
	return out
}
