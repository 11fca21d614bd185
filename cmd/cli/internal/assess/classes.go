package assess

import "strconv"

// mostClasses is the largest number of classes with curves and a confusion matrix.
const mostClasses = 100

// Classes describes how a classifier performs on the data.
type Classes struct {
	Accuracy Number `json:"accuracy"` // multi-label: the share of labels predicted right at 0.5
	// CrossEntropy is the mean of -ln of the probability of the true class; for multi-label, the mean over the labels.
	CrossEntropy Number   `json:"cross_entropy"`
	MacroAUC     Number   `json:"roc_auc_macro"` // mean over the classes that have one
	Curves       []Curves `json:"curves"`        // two classes: of the second only; none for more than 100 classes
	// Confidence is the calibration of the probability of the most probable class.
	Confidence *Calibration `json:"confidence,omitempty"`
	// Confusion has a row for each label and a column for each prediction; nil for multi-label and for more than 100 classes.
	Confusion [][]float64 `json:"confusion_matrix,omitempty"`
	Names     []string    `json:"classes"`
}

// classCounts sums up a classifier's predictions.
type classCounts struct {
	n         int
	several   bool // multi-label
	scores    []sketch
	bins      []calibrator
	sure      calibrator
	confusion []float64
	weight    float64
	right     float64
	loss      float64
}

// mostScores bounds the number of scores kept for all classes together.
const mostScores = 1 << 18

func newClassCounts(n int, several bool) *classCounts {
	c := &classCounts{n: n, several: several}
	if n > mostClasses {
		return c
	}
	c.scores, c.bins = make([]sketch, n), make([]calibrator, n)
	for k := range c.scores {
		c.scores[k].most = min(mostScores/n, 1<<16)
	}
	if !several {
		c.confusion = make([]float64, n*n)
	}
	return c
}

// add counts an example with these probabilities. Its label is class k, or hot for multi-label.
func (c *classCounts) add(p []float64, k int, hot []float64, loss, weight float64) {
	c.weight += weight
	c.loss += weight * loss
	if c.several {
		c.right += weight * agreeing(p, hot)
	} else {
		best := most(p)
		is := indicator(best == k)
		c.right += weight * is
		c.sure.add(p[best], is, weight)
		if c.confusion != nil {
			c.confusion[k*c.n+best] += weight
		}
	}
	for i := range c.scores {
		if c.n == 2 && !c.several && i == 0 {
			continue // the second class mirrors it
		}
		is := indicator(i == k)
		if c.several {
			is = hot[i]
		}
		c.scores[i].add(p[i], weight*is, weight*(1-is))
		c.bins[i].add(p[i], is, weight)
	}
}

func (c *classCounts) result(names []string) *Classes {
	out := &Classes{Accuracy: Number(per(c.right, c.weight)), CrossEntropy: Number(per(c.loss, c.weight)), Names: classNames(names, c.n)}
	sum, n := 0.0, 0.0
	for i := range c.scores {
		if c.n == 2 && !c.several && i == 0 {
			continue
		}
		one := newCurves(out.Names[i], c.scores[i].sorted())
		one.Calibration = c.bins[i].result()
		if out.Curves = append(out.Curves, one); one.ROCAUC.Finite() {
			sum, n = sum+float64(one.ROCAUC), n+1
		}
	}
	out.MacroAUC = Number(per(sum, n))
	if !c.several {
		sure := c.sure.result()
		out.Confidence = &sure
	}
	for i := 0; i < len(c.confusion); i += c.n {
		out.Confusion = append(out.Confusion, c.confusion[i:i+c.n])
	}
	return out
}

// classNames are n names: names if there are n of them, otherwise numbers.
func classNames(names []string, n int) []string {
	if len(names) == n {
		return names
	}
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// most is the index of the greatest number, the first of equal ones.
func most(p []float64) int {
	best := 0
	for i, x := range p {
		if x > p[best] {
			best = i
		}
	}
	return best
}

// agreeing is the share of probabilities on the same side of 0.5 as their labels.
func agreeing(p, hot []float64) float64 {
	n := 0.0
	for i := range p {
		n += indicator((p[i] > 0.5) == (hot[i] > 0.5))
	}
	return n / float64(len(p))
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
