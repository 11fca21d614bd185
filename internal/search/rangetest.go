package search

import "math"

// RangeTest finds a learning rate, which grows from step to step while the loss is recorded (Smith, "Cyclical Learning Rates for Training
// Neural Networks", 2017). Losses are smoothed by an exponential average with bias correction.
type RangeTest struct {
	Points  []RangePoint
	average float64
	least   float64
}

// RangePoint is the result of one step.
type RangePoint struct {
	Rate     float64 `json:"learning_rate"`
	Loss     float64 `json:"loss"`
	Smoothed float64 `json:"smoothed_loss"`
}

const (
	smoothing = 0.9
	diverged  = 4    // times the lowest smoothed loss, if that is above 0
	leastFall = 1e-6 // of the loss; a smaller fall is rounding
	settled   = 5    // points at the beginning whose average has few losses
)

// Add adds the loss of a step, and reports whether training has diverged: the loss is not finite, or far above its lowest value. A step
// that is not finite is not kept.
func (t *RangeTest) Add(rate, loss float64) (over bool) {
	if math.IsNaN(loss) || math.IsInf(loss, 0) || math.IsNaN(rate) {
		return true
	}
	t.average = smoothing*t.average + (1-smoothing)*loss
	p := RangePoint{Rate: rate, Loss: loss, Smoothed: t.average / (1 - math.Pow(smoothing, float64(len(t.Points)+1)))}
	if t.Points = append(t.Points, p); len(t.Points) == 1 || p.Smoothed < t.least {
		t.least = p.Smoothed
	}
	return len(t.Points) > settled && t.least > 0 && p.Smoothed > diverged*t.least
}

// Suggest returns the rate at which the smoothed loss falls fastest over the logarithm of the rate, before the loss reaches its minimum.
// The slope is measured between the points a tenth of all points before and after. ok is false if the loss never falls.
func (t *RangeTest) Suggest() (rate float64, ok bool) {
	lowest := min(settled, len(t.Points)-1)
	for i := lowest; i >= 0 && i < len(t.Points); i++ {
		if t.Points[i].Smoothed < t.Points[lowest].Smoothed {
			lowest = i
		}
	}
	reach := max(1, len(t.Points)/10)
	steepest := 0.0
	for i := settled + reach; i+reach < len(t.Points) && i <= lowest; i++ {
		a, b := t.Points[i-reach], t.Points[i+reach]
		if a.Smoothed-b.Smoothed < leastFall*math.Abs(a.Smoothed) {
			continue
		}
		if slope := (b.Smoothed - a.Smoothed) / math.Log(b.Rate/a.Rate); slope < steepest {
			steepest, rate, ok = slope, t.Points[i].Rate, true
		}
	}
	return rate, ok
}
