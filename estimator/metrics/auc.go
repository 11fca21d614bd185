package metrics

import (
	"fmt"
	"math"
)

// Curve is what an AUC measures the area under.
type Curve string

// The curves.
const (
	ROC Curve = "ROC" // recall by false positive rate
	PR  Curve = "PR"  // precision by recall
)

// Summation is how an AUC sums the area between neighbouring thresholds.
type Summation string

// The summation methods. Interpolation is the method of tf.keras.metrics.AUC. The others
// are methods of tf.compat.v1.metrics.auc, which add 1e-6 to the terms of each ratio.
const (
	// Interpolation is the trapezoidal rule for ROC, and for PR the interpolation
	// of Davis & Goadrich 2006, "The Relationship Between Precision-Recall and ROC Curves".
	Interpolation Summation = "interpolation"
	// Trapezoidal is the trapezoidal rule; it overestimates PR.
	Trapezoidal Summation = "trapezoidal"
	// CarefulInterpolation is Trapezoidal for ROC and, for PR, Davis & Goadrich's interpolation.
	CarefulInterpolation Summation = "careful_interpolation"
	// Minoring takes the lower end of each interval, a lower bound.
	Minoring Summation = "minoring"
	// Majoring takes the higher end of each interval, an upper bound.
	Majoring Summation = "majoring"
)

const (
	defaultThresholds = 200
	maxThresholds     = 1 << 24
	// edgeEpsilon puts the outer thresholds outside [0, 1], so that predictions of exactly 0 and 1 count.
	edgeEpsilon = 1e-7
	// ratioEpsilon is added to ratios by the methods of tf.compat.v1.metrics.auc.
	ratioEpsilon = 1e-6
)

// AUCOptions are the parameters of an AUC. The zero value is tf.keras.metrics.AUC().
type AUCOptions struct {
	Curve         Curve     // default ROC
	Summation     Summation // default Interpolation
	NumThresholds int       // default 200, at least 2: -1e-7, evenly in (0, 1), 1+1e-7
}

// AUC is the area under a ROC or precision-recall curve drawn at fixed thresholds
// (tf.keras.metrics.AUC, tf.compat.v1.metrics.auc).
type AUC struct {
	histogram
	options AUCOptions
}

// NewAUC returns an AUC. Update takes labels (0 or 1), predictions in [0, 1][, weights].
func NewAUC(o AUCOptions) (*AUC, error) {
	if o.Curve == "" {
		o.Curve = ROC
	}
	if o.Summation == "" {
		o.Summation = Interpolation
	}
	if o.NumThresholds == 0 {
		o.NumThresholds = defaultThresholds
	}
	if o.Curve != ROC && o.Curve != PR {
		return nil, fmt.Errorf("auc: %w: expected curve %s or %s, got %q", ErrParameter, ROC, PR, o.Curve)
	}
	switch o.Summation {
	case Interpolation, Trapezoidal, CarefulInterpolation, Minoring, Majoring:
	default:
		return nil, fmt.Errorf("auc: %w: expected summation %s, %s, %s, %s or %s, got %q", ErrParameter,
			Interpolation, Trapezoidal, CarefulInterpolation, Minoring, Majoring, o.Summation)
	}
	if o.NumThresholds < 2 || o.NumThresholds > maxThresholds {
		return nil, fmt.Errorf("auc: %w: expected 2 to %d thresholds, got %d", ErrParameter, maxThresholds, o.NumThresholds)
	}
	name := "auc"
	if o.Curve == PR {
		name = "auc_precision_recall"
	}
	kind := fmt.Sprintf("%s(summation=%s, thresholds=%d)", name, o.Summation, o.NumThresholds)
	return &AUC{newHistogram(kind, evenThresholds(o.NumThresholds, edgeEpsilon)), o}, nil
}

// evenThresholds returns -edge, n-2 values that divide [0, 1] evenly, and 1+edge.
func evenThresholds(n int, edge float64) []float64 {
	ts := make([]float64, n)
	for i := range ts {
		ts[i] = float64(i) / float64(n-1)
	}
	ts[0], ts[n-1] = -edge, 1+edge
	return ts
}

// Result implements Accumulator.
func (m *AUC) Result() Value {
	at := m.confusions()
	interpolated := m.options.Summation == Interpolation || m.options.Summation == CarefulInterpolation
	area := 0.0
	for i := 0; i+1 < len(at); i++ {
		if m.options.Curve == PR && interpolated {
			area += interpolatedPR(at[i], at[i+1])
			continue
		}
		x0, y0 := m.point(at[i])
		x1, y1 := m.point(at[i+1])
		area += (x0 - x1) * m.height(y0, y1)
	}
	return scalar(area)
}

// point returns the point of the curve at one threshold.
func (m *AUC) point(c confusion) (x, y float64) {
	if m.options.Summation == Interpolation { // this method does not use points of the PR curve
		return c.fallout(), c.recall()
	}
	recall := (c.tp + ratioEpsilon) / (c.tp + c.fn + ratioEpsilon)
	if m.options.Curve == ROC {
		return c.fp / (c.fp + c.tn + ratioEpsilon), recall
	}
	return recall, (c.tp + ratioEpsilon) / (c.tp + c.fp + ratioEpsilon)
}

// height returns the height that represents the curve between two of its points.
func (m *AUC) height(y0, y1 float64) float64 {
	switch m.options.Summation {
	case Minoring:
		return math.Min(y0, y1)
	case Majoring:
		return math.Max(y0, y1)
	}
	return (y0 + y1) / 2
}

// interpolatedPR returns the area between two thresholds; a is the lower one. Between
// them, true positives are assumed to be linear in all positives p, so that
// precision = (intercept + slope*p) / p. Its integral over recall is
// slope * (dTP + intercept * log(p_a/p_b)) / (tp_b + fn_b).
func interpolatedPR(a, b confusion) float64 {
	dtp := a.tp - b.tp
	pa, pb := a.tp+a.fp, b.tp+b.fp
	slope := divNoNaN(dtp, math.Max(pa-pb, 0))
	intercept := b.tp - slope*pb
	ratio := 1.0
	if pa > 0 && pb > 0 {
		ratio = pa / pb
	}
	return divNoNaN(slope*(dtp+intercept*math.Log(ratio)), math.Max(b.tp+b.fn, 0))
}
