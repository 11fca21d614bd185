package assess

import (
	"math"
	"math/rand/v2"
)

// Residuals describes how a regression performs on the data. A residual is the label minus the prediction.
type Residuals struct {
	RMSE Number `json:"rmse"`
	MAE  Number `json:"mae"`
	R2   Number `json:"r2"` // null if all labels are equal
	Bias Number `json:"mean_residual"`
	// Quantiles are the residuals below which 5, 25, 50, 75 and 95 % of the weight lie.
	Quantiles [5]Number `json:"residual_quantiles"`
	Histogram []Bar     `json:"residual_histogram"`
	// Sample has pairs of label and prediction: all, or a random sample.
	Sample [][2]float64 `json:"sample"`
	Of     int64        `json:"sample_of"` // number of values that it was drawn from
}

// Bar is the weight of the values between From and To.
type Bar struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Weight float64 `json:"weight"`
}

// Limits on the pairs and bars to draw.
const (
	mostPairs = 2000
	mostBars  = 40
)

// residuals sums up a regression.
type residuals struct {
	weight, mean, spread  float64 // of the labels; spread is the sum of the squared distances from the mean
	squares, sizes, total float64
	each                  sketch
	sample                [][2]float64
	n                     int64
	random                *rand.Rand
}

func newResiduals() *residuals {
	return &residuals{each: sketch{most: 1 << 16}, random: rand.New(rand.NewPCG(1, 0))}
}

func (r *residuals) add(label, predicted, weight float64) {
	d := label - predicted
	r.squares += weight * d * d
	r.sizes += weight * math.Abs(d)
	r.total += weight * d
	r.each.add(d, weight, 0)
	if weight > 0 { // Welford's algorithm, with weights
		r.weight += weight
		from := label - r.mean
		r.mean += from * weight / r.weight
		r.spread += weight * from * (label - r.mean)
	}
	if r.n++; len(r.sample) < mostPairs {
		r.sample = append(r.sample, [2]float64{label, predicted})
	} else if i := r.random.Int64N(r.n); i < mostPairs {
		r.sample[i] = [2]float64{label, predicted}
	}
}

func (r *residuals) result() *Residuals {
	points := r.each.sorted()
	out := &Residuals{RMSE: Number(math.Sqrt(per(r.squares, r.weight))), MAE: Number(per(r.sizes, r.weight)), Bias: Number(per(r.total, r.weight)),
		R2: Number(1 - per(r.squares, r.spread)), Sample: r.sample, Of: r.n, Histogram: histogram(points)}
	for i, q := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		out.Quantiles[i] = Number(quantile(points, q))
	}
	return out
}

// histogram has bars of equal width over the middle 99 % of the weight; the first and the last bar also count what lies beyond.
func histogram(sorted []point) []Bar {
	if len(sorted) == 0 {
		return nil
	}
	low, high := quantile(sorted, 0.005), quantile(sorted, 0.995)
	n := mostBars
	if low == high {
		n = 1
	}
	width := (high - low) / float64(n)
	bars := make([]Bar, n)
	for i := range bars {
		bars[i].From, bars[i].To = low+float64(i)*width, low+float64(i+1)*width
	}
	for _, p := range sorted {
		i := 0
		if width > 0 {
			i = int(min(max((p.score-low)/width, 0), float64(n-1)))
		}
		bars[i].Weight += p.weight()
	}
	return bars
}
