package assess

import "math"

// Curves measure how well scores separate one class from the rest.
type Curves struct {
	Class     string `json:"class"`
	Positives Number `json:"positives"` // examples of the class, or their weights
	Negatives Number `json:"negatives"`
	// ROCAUC is the area under ROC by trapezoids: equal scores count half. Null without examples of both kinds.
	ROCAUC Number `json:"roc_auc"`
	// AveragePrecision is the sum of precisions weighted by the rise of recall (scikit-learn's average_precision_score). Null without positives.
	AveragePrecision Number `json:"average_precision"`
	// Within bounds the error of ROCAUC from merging scores; 0: ROCAUC is exact.
	Within Number       `json:"roc_auc_within"`
	ROC    [][2]float64 `json:"roc"`              // false and true positive rate, thinned out
	PR     [][2]float64 `json:"precision_recall"` // recall and precision, thinned out
	Calibration
}

// newCurves computes curves from scores in ascending order.
func newCurves(class string, sorted []point) Curves {
	pos, neg := 0.0, 0.0
	for _, p := range sorted {
		pos, neg = pos+p.pos, neg+p.neg
	}
	c := Curves{Class: class, Positives: Number(pos), Negatives: Number(neg)}
	roc, pr := thinned{}, thinned{}
	roc.add(0, 0)
	tp, fp, area, precisions, doubt := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := len(sorted) - 1; i >= 0; i-- {
		p := sorted[i]
		area += p.neg * (tp + p.pos/2)
		if p.merged {
			doubt += p.pos * p.neg / 2
		}
		tp, fp = tp+p.pos, fp+p.neg
		precision := tp / (tp + fp)
		precisions += p.pos * precision
		roc.add(per(fp, neg), per(tp, pos))
		pr.add(per(tp, pos), precision)
	}
	c.ROCAUC, c.AveragePrecision, c.Within = Number(per(area, pos*neg)), Number(per(precisions, pos)), Number(doubt/math.Max(pos*neg, math.SmallestNonzeroFloat64))
	if pos > 0 && neg > 0 {
		c.ROC = roc.all()
	}
	if pos > 0 {
		c.PR = pr.all()
	}
	return c
}

// step is the largest distance between drawn points of a curve in either direction, except for jumps.
const step = 1. / 250

// thinned is a curve without points that cannot be told from their neighbours.
type thinned struct {
	points  [][2]float64
	last    [2]float64
	pending bool // last is not among the points
}

func (t *thinned) add(x, y float64) {
	p := [2]float64{x, y}
	if len(t.points) == 0 {
		t.points, t.last = append(t.points, p), p
		return
	}
	if held := t.points[len(t.points)-1]; math.Abs(x-held[0]) < step && math.Abs(y-held[1]) < step {
		t.last, t.pending = p, true
		return
	}
	if t.pending {
		t.points = append(t.points, t.last)
	}
	t.points, t.last, t.pending = append(t.points, p), p, false
}

func (t *thinned) all() [][2]float64 {
	if t.pending {
		t.points, t.pending = append(t.points, t.last), false
	}
	return t.points
}
