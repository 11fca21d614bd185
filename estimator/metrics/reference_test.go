package metrics_test

import (
	"math"
	"sort"

	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

func (k kind) open(t tester) metrics.Accumulator {
	t.Helper()
	a, err := metrics.New(k.name, k.params...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (k kind) draw(t *rapid.T, n int) batch {
	b := batch{labels: rapid.SliceOfN(k.label, n, n).Draw(t, "labels")}
	for range n {
		w := max(k.width, 1)
		b.values = append(b.values, rapid.SliceOfN(k.value, w, w).Draw(t, "values"))
	}
	if rapid.Bool().Draw(t, "weighted") {
		b.weights = make([]float64, n)
		for i := range b.weights {
			b.weights[i] = float64(rapid.IntRange(0, 8).Draw(t, "weight")) / 4
		}
	}
	return b
}

// args returns b as the tensors of one Update.
func (k kind) args(b batch) []*tensor.Tensor {
	n, w := len(b.labels), max(k.width, 1)
	values := make([]float32, 0, n*w)
	for _, row := range b.values {
		for _, v := range row[:w] {
			values = append(values, float32(v))
		}
	}
	shape := []int{n}
	if k.width > 0 {
		shape = []int{n, w}
	}
	out := []*tensor.Tensor{must(tensor.FromSlice(values, shape...))}
	if !k.only {
		out = []*tensor.Tensor{dense(b.labels...), out[0]}
	}
	if b.weights != nil {
		out = append(out, must(tensor.FromSlice(b.weights, n, 1)))
	}
	return out
}

func (b batch) slice(i, j int) batch {
	c := batch{labels: b.labels[i:j], values: b.values[i:j]}
	if b.weights != nil {
		c.weights = b.weights[i:j]
	}
	return c
}

func (b batch) weight(i int) float64 {
	if b.weights == nil {
		return 1
	}
	return b.weights[i]
}

func update(t tester, k kind, a metrics.Accumulator, b batch) {
	t.Helper()
	if err := a.Update(k.args(b)...); err != nil {
		t.Fatal(err)
	}
}

// near compares to 1e-9, absolute or relative; NaN equals NaN.
func near(t tester, what string, want, got []float64) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: expected %v, got %v", what, want, got)
	}
	for i, w := range want {
		if math.IsNaN(w) && math.IsNaN(got[i]) {
			continue
		}
		if !testkit.Near(got[i], w, 1e-9*max(1, math.Abs(w))) {
			t.Fatalf("%s: expected %v, got %v", what, want, got)
		}
	}
}

func equal(t tester, what string, want, got metrics.Value) {
	t.Helper()
	if len(want.Shape) != len(got.Shape) || want.String() != got.String() {
		t.Errorf("%s: expected %v, got %v", what, want, got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func dense(values ...float64) *tensor.Tensor { return must(tensor.FromSlice(values, len(values))) }

func thresholds(ts ...float64) []metrics.Param {
	return []metrics.Param{metrics.WithThresholds(ts...)}
}

func bound(b float64, n int) []metrics.Param {
	return []metrics.Param{metrics.WithBound(b), metrics.WithNumThresholds(n)}
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func div(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func meanOf(f func(label float64, values []float64) float64) func(batch) []float64 {
	return func(b batch) []float64 {
		var total, count float64
		for i, l := range b.labels {
			total += b.weight(i) * f(l, b.values[i])
			count += b.weight(i)
		}
		return []float64{div(total, count)}
	}
}

func extremeOf(better func(a, b float64) bool) func(batch) []float64 {
	return func(b batch) []float64 {
		best := math.NaN()
		for i, v := range b.values {
			if b.weight(i) != 0 && (math.IsNaN(best) || better(v[0], best)) {
				best = v[0]
			}
		}
		return []float64{best}
	}
}

type confusionFunc func(tp, fp, tn, fn float64) float64

func naivePrecision(tp, fp, tn, fn float64) float64   { return div(tp, tp+fp) }
func naiveRecall(tp, fp, tn, fn float64) float64      { return div(tp, tp+fn) }
func naiveSpecificity(tp, fp, tn, fn float64) float64 { return div(tn, tn+fp) }

// at counts, example by example, at one threshold.
func (b batch) at(threshold float64, f confusionFunc) float64 {
	var tp, fp, tn, fn float64
	for i, l := range b.labels {
		above, w := b.values[i][0] > threshold, b.weight(i)
		tp += w * is(l == 1 && above)
		fp += w * is(l == 0 && above)
		tn += w * is(l == 0 && !above)
		fn += w * is(l == 1 && !above)
	}
	return f(tp, fp, tn, fn)
}

func atEach(thresholds []float64, f confusionFunc) func(batch) []float64 {
	return func(b batch) []float64 {
		var out []float64
		for _, t := range thresholds {
			out = append(out, b.at(t, f))
		}
		return out
	}
}

// bestWhere is the greatest dependent over the thresholds 0, 1/64, ..., 1 where constrained >= 0.75.
func bestWhere(constrained, dependent confusionFunc) func(batch) []float64 {
	return func(b batch) []float64 {
		best := 0.0
		for i := range 65 {
			if t := float64(i) / 64; b.at(t, constrained) >= 0.75 {
				best = max(best, b.at(t, dependent))
			}
		}
		return []float64{best}
	}
}

// rankAUC is the probability that a positive outranks a negative (Mann-Whitney),
// which is exact here: 200 thresholds separate all multiples of 1/64.
func rankAUC(b batch) []float64 {
	var wins, pairs float64
	for i, l := range b.labels {
		for j, m := range b.labels {
			if l == 1 && m == 0 {
				w := b.weight(i) * b.weight(j)
				pairs += w
				wins += w * (is(b.values[i][0] > b.values[j][0]) + 0.5*is(b.values[i][0] == b.values[j][0]))
			}
		}
	}
	return []float64{div(wins, pairs)}
}

// integratedPR integrates precision over recall numerically (Simpson's rule), with
// true and false positives linear between two neighbouring predictions.
func integratedPR(b batch) []float64 {
	cuts := []float64{-1}
	for _, v := range b.values {
		cuts = append(cuts, v[0])
	}
	sort.Float64s(cuts)
	area := 0.0
	positives := b.at(-1, func(tp, fp, tn, fn float64) float64 { return tp })
	for i := 0; i+1 < len(cuts); i++ {
		var tp, fp [2]float64
		for e := range 2 {
			tp[e] = b.at(cuts[i+e], func(tp, _, _, _ float64) float64 { return tp })
			fp[e] = b.at(cuts[i+e], func(_, fp, _, _ float64) float64 { return fp })
		}
		dtp := tp[0] - tp[1]
		if dtp <= 0 {
			continue
		}
		precision := func(x float64) float64 {
			p, q := tp[1]+x*dtp, fp[1]+x*(fp[0]-fp[1])
			if p+q == 0 { // the limit at the first positives
				return dtp / (dtp + fp[0] - fp[1])
			}
			return p / (p + q)
		}
		const steps = 2000
		sum := precision(0) + precision(1)
		for s := 1; s < steps; s++ {
			sum += float64(2+2*(s%2)) * precision(float64(s)/steps)
		}
		area += div(dtp*sum/(3*steps), positives)
	}
	return []float64{area}
}

func naiveMatrix(b batch) []float64 {
	out := make([]float64, 9)
	for i, l := range b.labels {
		out[3*int(l)+int(b.values[i][0])] += b.weight(i)
	}
	return out
}

// naiveF1 computes the score and the weight of each class, example by example.
func naiveF1(b batch) (scores, support []float64) { return naiveFBeta(b, 1) }

// naiveFBeta is naiveF1 with recall counting beta times as much as precision.
func naiveFBeta(b batch, beta float64) (scores, support []float64) {
	for c := range 3 {
		var hits, labels, predictions float64
		for i, l := range b.labels {
			hits += b.weight(i) * is(int(l) == c && int(b.values[i][0]) == c)
			labels += b.weight(i) * is(int(l) == c)
			predictions += b.weight(i) * is(int(b.values[i][0]) == c)
		}
		precision, recall := div(hits, predictions), div(hits, labels)
		scores, support = append(scores, div((1+beta*beta)*precision*recall, beta*beta*precision+recall)), append(support, labels)
	}
	return scores, support
}

// naiveIoU computes the intersection over union of each class, and 1 for each class that occurs.
func naiveIoU(b batch) (of, there []float64) {
	for c := range 3 {
		var both, either float64
		for i, l := range b.labels {
			both += b.weight(i) * is(int(l) == c && int(b.values[i][0]) == c)
			either += b.weight(i) * is(int(l) == c || int(b.values[i][0]) == c)
		}
		of, there = append(of, div(both, either)), append(there, is(either != 0))
	}
	return of, there
}

// naiveR2 computes the mean of the labels first, in a pass of its own.
func naiveR2(b batch) []float64 {
	var mean, n, errors, variance float64
	for i, l := range b.labels {
		mean, n = mean+b.weight(i)*l, n+b.weight(i)
	}
	mean /= n
	for i, l := range b.labels {
		errors += b.weight(i) * (l - b.values[i][0]) * (l - b.values[i][0])
		variance += b.weight(i) * (l - mean) * (l - mean)
	}
	switch {
	case variance < 1e-12 && errors > 0: // labels that do not differ
		return []float64{0}
	case variance < 1e-12:
		return []float64{math.NaN()}
	}
	return []float64{1 - errors/variance}
}
