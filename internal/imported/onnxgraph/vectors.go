package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// vectorOperators are support vector machines.
var vectorOperators = operators{"SVMRegressor": one(vectorRegressor), "SVMClassifier": as(vectorClassifier).but("more than 64 classes with probabilities, and post_transform")}

// Limits on a classifier: each pair of classes has a column, and with probabilities each class is a step in a loop.
const (
	maxPairs       = 1 << 12
	maxProbability = 64
	maxRefinements = 100
)

// kernel compares the rows of u with n vectors, [rows, n].
func (x *site) kernel(u *value, vectors []float32, n int) *value {
	if n < 1 || len(vectors) == 0 || len(vectors)%n != 0 {
		refuse("%d numbers for %d vectors", len(vectors), n)
	}
	params := x.floatList("kernel_params")
	if len(params) == 0 {
		params = []float32{0, 0, 0}
	}
	if len(params) != 3 {
		refuse("%d kernel_params: expected gamma, coef0 and degree", len(params))
	}
	gamma, shift, degree := float64(params[0]), float64(params[1]), float64(params[2])
	width := len(vectors) / n
	dot := func() *value { return x.product(u, x.transpose(x.floats(vectors, n, width), []int{1, 0})) }
	switch name := x.str("kernel_type", "LINEAR"); name {
	case "LINEAR":
		return dot()
	case "POLY":
		return x.op(ops.Pow, nil, x.plus(x.times(dot(), gamma), shift), x.scalar(u.dtype, degree))
	case "SIGMOID":
		return x.op(ops.Tanh, nil, x.plus(x.times(dot(), gamma), shift))
	case "RBF":
		return x.op(ops.Exp, nil, x.times(x.distances(u, x.floats(vectors, n, width)), -gamma))
	default:
		refuse("kernel_type %s", name)
		return nil
	}
}

// distances returns the squared distances between rows of u and v, [rows of u, rows of v]. It uses products of rows, which take less
// memory than differences, in 64 bits, since the squares of near rows almost cancel.
func (x *site) distances(u, v *value) *value {
	u, v = x.cast(u, tensor.Float64), x.cast(v, tensor.Float64)
	square := func(w *value) *value {
		return x.op(ops.Sum, graph.Attrs{"keep_dims": true}, x.op(ops.Square, nil, w), x.i32(1))
	}
	sum := x.op(ops.AddV2, nil, square(u), x.transpose(square(v), []int{1, 0}))
	d := x.op(ops.Sub, nil, sum, x.times(x.product(u, x.transpose(v, []int{1, 0})), 2))
	d = x.op(ops.SelectV2, nil, x.op(ops.IsInf, nil, sum), sum, d) // infinities would cancel to NaN
	return x.cast(x.op(ops.Maximum, nil, d, x.scalar(tensor.Float64, 0)), tensor.Float32)
}

// rows returns input 0 as a float32 matrix.
func (x *site) rows() *value {
	u := x.real(0)
	if x.rank(0) == 1 {
		u = x.op(ops.ExpandDims, nil, u, x.i32(0))
	}
	return u
}

// vectorRegressor is linear without vectors. It ignores post_transform, as ONNX Runtime does.
func vectorRegressor(x *site) *value {
	x.attr("post_transform")
	n, weights, rho := x.int("n_supports", 0), x.floatList("coefficients"), x.floatList("rho")
	if len(weights) == 0 || len(rho) == 0 {
		refuse("no coefficients, or no rho")
	}
	var y *value
	if n > 0 {
		y = x.product(x.kernel(x.rows(), x.floatList("support_vectors"), n), x.floats(weights, n, 1))
	} else {
		x.read["kernel_type"], x.read["kernel_params"], x.read["support_vectors"] = true, true, true
		y = x.product(x.rows(), x.floats(weights, len(weights), 1))
	}
	y = x.plus(y, float64(rho[0]))
	if !x.flag("one_class", false) {
		return y
	}
	return x.op(ops.SelectV2, nil, x.op(ops.Greater, nil, y, x.scalar(y.dtype, 0)), x.scalar(y.dtype, 1), x.scalar(y.dtype, -1))
}

// vectorClassifier returns labels, and as scores the classes' scores, their probabilities, or the scores of each pair of classes.
func vectorClassifier(x *site) []*value {
	labels := x.labels()
	classes := labels.t.Len()
	if name := x.str("post_transform", "NONE"); name != "NONE" {
		refuse("post_transform %s", name)
	}
	weights, rho, per := x.floatList("coefficients"), x.floatList("rho"), x.intList("vectors_per_class", nil)
	if len(rho) == 0 || len(weights) == 0 {
		refuse("no coefficients, or no rho")
	}
	if len(per) == 0 {
		for _, name := range []string{"kernel_type", "kernel_params", "support_vectors", "prob_a", "prob_b"} {
			x.attr(name)
		}
		if len(weights)%classes != 0 {
			refuse("%d coefficients for %d classes", len(weights), classes)
		}
		y := x.plus(x.product(x.rows(), x.transpose(x.floats(weights, classes, len(weights)/classes), []int{1, 0})), float64(rho[0]))
		if classes == 2 {
			return []*value{x.highest(labels, y, !slices.ContainsFunc(weights, func(w float32) bool { return w < 0 })), y}
		}
		return []*value{x.named(labels, y), y}
	}
	p := newPairs(classes, per, weights, rho)
	x.t.pay(8 * len(p.weights))
	// The sums almost cancel: ONNX Runtime adds them in 64 bits.
	wide := func(v *value) *value { return x.cast(v, tensor.Float64) }
	kernel := wide(x.kernel(x.rows(), x.floatList("support_vectors"), p.vectors))
	scores := x.op(ops.AddV2, nil, x.product(kernel, wide(x.floats(p.weights, p.vectors, p.n))), wide(x.floats(rho[:p.n], p.n)))
	scores = x.cast(scores, tensor.Float32)
	label := x.named(labels, x.votes(p, scores))
	a, b := x.floatList("prob_a"), x.floatList("prob_b")
	switch {
	case len(a) != len(b) || len(a) > 0 && len(a) < p.n:
		refuse("%d prob_a and %d prob_b for %d pairs of classes", len(a), len(b), p.n)
	case len(a) > 0:
		return []*value{label, x.probabilities(p, scores, a[:p.n], b[:p.n])}
	case classes == 2: // as in ONNX Runtime, although a score above 0 means the first class
		return []*value{label, x.concat(1, x.op(ops.Neg, nil, scores), scores)}
	}
	return []*value{label, scores}
}

// highest returns ONNX Runtime's label for scores of two classes without vectors: the second label if the higher score is above 0, or
// at least 0.5 if no coefficient is negative, else the label with the higher score.
func (x *site) highest(labels, y *value, positive bool) *value {
	top := x.op(ops.Max, nil, y, x.i32(1))
	hit := x.op(ops.Greater, nil, top, x.scalar(y.dtype, 0))
	if positive {
		hit = x.op(ops.GreaterEqual, nil, top, x.scalar(y.dtype, 0.5))
	}
	return x.op(ops.SelectV2, nil, hit, x.item(labels, 1), x.named(labels, y))
}

// pairs are the comparisons of each class with the classes after it.
type pairs struct {
	classes, vectors, n int
	weights             []float32 // of vectors in pairs, [vectors, n]
	first, second       []int     // classes
}

// newPairs reads the coefficients [classes-1, vectors]: row k of a vector is for the k-th other class.
func newPairs(classes int, per []int, weights, rho []float32) *pairs {
	p := &pairs{classes: classes, n: classes * (classes - 1) / 2}
	if classes < 2 || classes > maxPairs || p.n > maxPairs || len(per) != classes || len(rho) < p.n {
		refuse("%d classes, %d numbers of vectors and %d of rho", classes, len(per), len(rho))
	}
	start := make([]int, classes)
	for i, n := range per {
		if start[i] = p.vectors; n < 0 || n > len(weights) {
			refuse("%d vectors of a class", n)
		}
		p.vectors += n
	}
	if p.vectors == 0 || p.vectors > len(weights) || len(weights) != (classes-1)*p.vectors {
		refuse("%d coefficients for %d vectors of %d classes", len(weights), p.vectors, classes)
	}
	if p.vectors > maxTreeNodes/p.n {
		refuse("%d vectors in %d pairs of classes", p.vectors, p.n)
	}
	p.weights = make([]float32, p.vectors*p.n)
	for i := range classes {
		for j := i + 1; j < classes; j++ {
			pair := len(p.first)
			p.first, p.second = append(p.first, i), append(p.second, j)
			for k := start[i]; k < start[i]+per[i]; k++ {
				p.weights[k*p.n+pair] = weights[(j-1)*p.vectors+k]
			}
			for k := start[j]; k < start[j]+per[j]; k++ {
				p.weights[k*p.n+pair] = weights[i*p.vectors+k]
			}
		}
	}
	return p
}

// votes counts for each class the pairs that it wins.
func (x *site) votes(p *pairs, scores *value) *value {
	won, lost := make([]float32, p.n*p.classes), make([]float32, p.n*p.classes)
	for i := range p.n {
		won[i*p.classes+p.first[i]], lost[i*p.classes+p.second[i]] = 1, 1
	}
	hit := x.cast(x.op(ops.Greater, nil, scores, x.scalar(scores.dtype, 0)), scores.dtype)
	rest := x.op(ops.Sub, nil, x.scalar(scores.dtype, 1), hit)
	return x.op(ops.AddV2, nil, x.product(hit, x.floats(won, p.n, p.classes)), x.product(rest, x.floats(lost, p.n, p.classes)))
}

// probabilities couples the probabilities of pairs of classes, by the second method of Wu, Lin and Weng, "Probability Estimates for
// Multi-class Classification by Pairwise Coupling", 2004, with the steps and limits of LIBSVM.
func (x *site) probabilities(p *pairs, scores *value, a, b []float32) *value {
	if p.classes > maxProbability {
		refuse("probabilities of %d classes: expected at most %d", p.classes, maxProbability)
	}
	d := scores.dtype
	wins := x.op(ops.AddV2, nil, x.op(ops.Mul, nil, scores, x.floats(a, p.n)), x.floats(b, p.n))
	wins = x.op(ops.Sub, nil, x.scalar(d, 1), x.op(ops.Sigmoid, nil, wins))
	wins = x.op(ops.Minimum, nil, x.op(ops.Maximum, nil, wins, x.scalar(d, 1e-7)), x.scalar(d, float64(1-float32(1e-7))))
	loses := x.op(ops.Sub, nil, x.scalar(d, 1), wins)
	q := x.coupling(p, wins, loses)
	start := x.op(ops.BroadcastTo, nil, x.scalar(d, float64(1/float32(p.classes))), x.pack(x.size(scores, 0), x.i32(p.classes)))
	diagonal := x.op(ops.MatrixDiagPart, nil, q)
	// The loop carries the probabilities and the number of rounds. weighed returns the terms of the error.
	weighed := func(x *site, now *value) (each, whole *value) {
		each = x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{2}}, x.op(ops.BatchMatMulV2, nil, q, x.op(ops.ExpandDims, nil, now, x.i32(2))))
		return each, x.op(ops.Sum, graph.Attrs{"keep_dims": true}, x.op(ops.Mul, nil, now, each), x.i32(1))
	}
	open := func(x *site, now *value) *value {
		each, whole := weighed(x, now)
		far := x.op(ops.Max, graph.Attrs{"keep_dims": true}, x.op(ops.Abs, nil, x.op(ops.Sub, nil, each, whole)), x.i32(1))
		return x.op(ops.GreaterEqual, nil, far, x.scalar(d, float64(float32(0.005)/float32(p.classes))))
	}
	round := constant(tensor.Scalar(int32(0)))
	known := []probes{start.known, round.known}
	return x.loop([]*value{start, round}, known, func(x *site, now []*value) *value {
		early := x.op(ops.Less, nil, now[1], x.i32(maxRefinements))
		return x.op(ops.LogicalAnd, nil, early, x.op(ops.Any, nil, open(x, now[0]), x.ints(0, 1)))
	}, func(x *site, now []*value) []*value {
		each, whole := weighed(x, now[0])
		next := x.refined(now[0], each, whole, q, diagonal, p.classes)
		next = x.op(ops.SelectV2, nil, open(x, now[0]), next, now[0])
		return []*value{next, x.op(ops.AddV2, nil, now[1], x.i32(1))}
	})[0]
}

// coupling returns the matrix of the quadratic form that the probabilities minimize, [rows, classes, classes].
func (x *site) coupling(p *pairs, wins, loses *value) *value {
	column := func(v *value, i int) *value { return x.op(ops.GatherV2, nil, v, x.i32(i), x.i32(1)) }
	square := p.classes * p.classes
	cells := make([]*value, square)
	at := func(i, j int) int { return i*p.classes + j }
	for k := range p.n {
		i, j := p.first[k], p.second[k]
		win, lose := column(wins, k), column(loses, k)
		cross := x.op(ops.Neg, nil, x.op(ops.Mul, nil, win, lose))
		cells[at(i, j)], cells[at(j, i)] = cross, cross
		for _, one := range []struct {
			cell int
			r    *value
		}{{at(i, i), lose}, {at(j, j), win}} {
			s := x.op(ops.Square, nil, one.r)
			if cells[one.cell] != nil {
				s = x.op(ops.AddV2, nil, cells[one.cell], s)
			}
			cells[one.cell] = s
		}
	}
	return x.reshape(x.op(ops.Pack, graph.Attrs{"axis": int64(1)}, cells...), -1, p.classes, p.classes)
}

// refined is one round: each class in turn is set to its optimum, given the others.
func (x *site) refined(now, each, whole, q, diagonal *value, classes int) *value {
	columns := func(v *value, i int) *value {
		return x.op(ops.GatherV2, nil, v, x.reshape(x.i32(i), 1), x.i32(1))
	}
	for t := range classes {
		own, at := columns(each, t), columns(diagonal, t)
		diff := x.op(ops.RealDiv, nil, x.op(ops.Sub, nil, whole, own), at)
		more := x.plus(diff, 1)
		// whole = (whole + diff*(diff*at + 2*own)) / more²
		step := x.op(ops.AddV2, nil, x.op(ops.Mul, nil, diff, at), x.times(own, 2))
		whole = x.op(ops.AddV2, nil, whole, x.op(ops.Mul, nil, diff, step))
		whole = x.op(ops.RealDiv, nil, x.op(ops.RealDiv, nil, whole, more), more)
		row := x.op(ops.GatherV2, nil, q, x.i32(t), x.i32(1))
		each = x.op(ops.RealDiv, nil, x.op(ops.AddV2, nil, each, x.op(ops.Mul, nil, diff, row)), more)
		unit := make([]float32, classes)
		unit[t] = 1
		now = x.op(ops.RealDiv, nil, x.op(ops.AddV2, nil, now, x.op(ops.Mul, nil, diff, x.floats(unit, 1, classes))), more)
	}
	return now
}
