package engine

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func stateCases() []*opCase {
	by := func(f func(w, x float64) float64) func(in []nd, _ [][]int) []nd {
		return func(in []nd, _ [][]int) []nd {
			r := newND(in[0].shape)
			for i := range r.data {
				r.data[i] = f(in[0].data[i], in[1].data[i])
			}
			return []nd{r}
		}
	}
	plus := func(w, x float64) float64 { return w + x }
	minus := func(w, x float64) float64 { return w - x }
	all := []*opCase{
		{op: "AssignVariableOp", in: []operand{slotOf("3,5", normalGen), feedOf("3,5")}, ref: by(func(_, x float64) float64 { return x })},
		{op: "AssignAddVariableOp", in: []operand{slotOf("3,5", normalGen), feedOf("3,5")}, ref: by(plus)},
		{op: "AssignSubVariableOp", in: []operand{slotOf("", normalGen), feedOf("")}, ref: by(minus)},
	}
	all = append(all, &opCase{op: guardOp, in: []operand{boolOf("")}, out: []graph.Type{ty(tensor.Int64, "")},
		ref: func(in []nd, _ [][]int) []nd { return []nd{{in[0].shape, []float64{1 - in[0].data[0]}}} }})
	step := operand{typ: ty(tensor.Int64, ""), gen: below(100), variable: true}
	all = append(all, &opCase{op: "AssignAddVariableOp", in: []operand{step, scalar(tensor.Int64, 1)}, ref: by(plus)},
		&opCase{op: "AssignSubVariableOp", in: []operand{step, scalar(tensor.Int64, 1)}, ref: by(minus)})
	for op, f := range map[string]func(w, x float64) float64{"ResourceScatterAdd": plus, "ResourceScatterSub": minus} {
		ref := func(in []nd, _ [][]int) []nd {
			r := nd{in[0].shape, append([]float64(nil), in[0].data...)}
			n := r.shape[1]
			for i, e := range in[2].data {
				at := int(in[1].data[i/n])*n + i%n
				r.data[at] = f(r.data[at], e)
			}
			return []nd{r}
		}
		all = append(all, &opCase{op: op, in: []operand{slotOf("6,3", normalGen), intsOf(tensor.Int64, "2B", 6), feedOf("2B,3")}, tol: 2, ref: ref},
			&opCase{op: op, in: []operand{slotOf("6,35", normalGen), intsOf(tensor.Int32, "2B", 6), feedOf("2B,35")}, tol: 2, ref: ref})
	}
	return all
}

// ruleRef updates one element: w are the variable and its slots, g the gradient, s the scalars in order.
type ruleRef func(w []float64, g float64, s []float64)

// ruleCase describes an optimizer's op: the kinds of its inputs after the variables as in updateOps.
type ruleCase struct {
	op        string
	variables int
	inputs    string
	scalars   []float64
	attrs     graph.Attrs
	ref       ruleRef
}

func ftrlRef(w []float64, g float64, s []float64, shrink float64, power float64) {
	lr, l1, l2 := s[0], s[1], s[2]
	accum := w[1] + g*g
	w[2] += g + 2*shrink*w[0] - (math.Pow(accum, -power)-math.Pow(w[1], -power))/lr*w[0]
	w[1] = accum
	w[0] = 0
	if math.Abs(w[2]) > l1 {
		w[0] = (math.Copysign(l1, w[2]) - w[2]) / (math.Pow(accum, -power)/lr + 2*l2)
	}
}

func ruleCases() []ruleCase {
	momentum := func(nesterov bool) ruleRef {
		return func(w []float64, g float64, s []float64) {
			w[1] = s[1]*w[1] + g
			if nesterov {
				w[0] -= s[0]*g + s[0]*s[1]*w[1]
			} else {
				w[0] -= s[0] * w[1]
			}
		}
	}
	keras := func(nesterov bool) ruleRef {
		return func(w []float64, g float64, s []float64) {
			w[1] = s[1]*w[1] - s[0]*g
			if nesterov {
				w[0] += s[1]*w[1] - s[0]*g
			} else {
				w[0] += w[1]
			}
		}
	}
	adam := func(nesterov bool) ruleRef {
		return func(w []float64, g float64, s []float64) {
			b1, b2 := s[3], s[4]
			w[1] = b1*w[1] + (1-b1)*g
			w[2] = b2*w[2] + (1-b2)*g*g
			m := w[1]
			if nesterov {
				m = b1*w[1] + (1-b1)*g
			}
			w[0] -= s[2] * math.Sqrt(1-s[1]) / (1 - s[0]) * m / (math.Sqrt(w[2]) + s[5])
		}
	}
	adagrad := func(epsilon func(s []float64) float64) ruleRef {
		return func(w []float64, g float64, s []float64) {
			w[1] += g * g
			w[0] -= s[0] * g / (math.Sqrt(w[1]) + epsilon(s))
		}
	}
	none, second := func([]float64) float64 { return 0 }, func(s []float64) float64 { return s[1] }
	rms := func(w []float64, g float64, s []float64) {
		w[1] = s[1]*w[1] + (1-s[1])*g*g
		w[2] = s[2]*w[2] + s[0]*g/math.Sqrt(w[1]+s[3])
		w[0] -= w[2]
	}
	centered := func(w []float64, g float64, s []float64) { // slots mg, ms, mom
		w[1] = s[1]*w[1] + (1-s[1])*g
		w[2] = s[1]*w[2] + (1-s[1])*g*g
		w[3] = s[2]*w[3] + s[0]*g/math.Sqrt(w[2]-w[1]*w[1]+s[3])
		w[0] -= w[3]
	}
	ftrl := func(w []float64, g float64, s []float64) { ftrlRef(w, g, s, 0, s[3]) }
	ftrl2 := func(w []float64, g float64, s []float64) { ftrlRef(w, g, s, s[3], s[4]) }
	yes, no := graph.Attrs{"use_nesterov": true}, graph.Attrs{}
	mom, ada, rmsS := []float64{0.1, 0.9}, []float64{0.1}, []float64{0.01, 0.9, 0.5, 0.125}
	adamS, ftrlS, ftrl2S := []float64{0.5, 0.75, 0.1, 0.875, 0.9375, 1e-3}, []float64{0.1, 0.01, 0.02, -0.5}, []float64{0.1, 0.01, 0.02, 0.03, -0.25}
	return []ruleCase{
		{"ResourceApplyGradientDescent", 1, "sg", ada, no, func(w []float64, g float64, s []float64) { w[0] -= s[0] * g }},
		{"ResourceApplyMomentum", 2, "sgs", mom, no, momentum(false)}, {"ResourceApplyMomentum", 2, "sgs", mom, yes, momentum(true)},
		{"ResourceApplyKerasMomentum", 2, "sgs", mom, no, keras(false)}, {"ResourceApplyKerasMomentum", 2, "sgs", mom, yes, keras(true)},
		{"ResourceApplyAdam", 3, "ssssssg", adamS, no, adam(false)}, {"ResourceApplyAdam", 3, "ssssssg", adamS, yes, adam(true)},
		{"ResourceApplyAdagrad", 2, "sg", ada, no, adagrad(none)}, {"ResourceApplyAdagradV2", 2, "ssg", []float64{0.1, 0.25}, no, adagrad(second)},
		{"ResourceApplyRMSProp", 3, "ssssg", rmsS, no, rms}, {"ResourceApplyCenteredRMSProp", 4, "ssssg", rmsS, no, centered},
		{"ResourceApplyFtrl", 3, "gssss", ftrlS, no, ftrl}, {"ResourceApplyFtrlV2", 3, "gsssss", ftrl2S, no, ftrl2},
		{"ResourceSparseApplyAdagrad", 2, "sgi", ada, no, adagrad(none)}, {"ResourceSparseApplyAdagradV2", 2, "ssgi", []float64{0.1, 0.25}, no, adagrad(second)},
		{"ResourceSparseApplyMomentum", 2, "sgis", mom, no, momentum(false)}, {"ResourceSparseApplyMomentum", 2, "sgis", mom, yes, momentum(true)},
		{"ResourceSparseApplyKerasMomentum", 2, "sgis", mom, yes, keras(true)},
		{"ResourceSparseApplyRMSProp", 3, "ssssgi", rmsS, no, rms}, {"ResourceSparseApplyFtrl", 3, "gissss", ftrlS, no, ftrl},
		{"ResourceSparseApplyCenteredRMSProp", 4, "ssssgi", rmsS, no, centered}, {"ResourceSparseApplyFtrlV2", 3, "gisssss", ftrl2S, no, ftrl2},
	}
}

// slotGens keep slots where the rules are defined: mg small against ms.
var slotGens = []func(*rand.Rand, int) float64{normalGen, positiveGen, positiveGen, normalGen}

func updateCases() []*opCase { return optimizerCases(false) }
func sparseCases() []*opCase { return optimizerCases(true) }

func optimizerCases(sparse bool) []*opCase {
	var all []*opCase
	for _, rc := range ruleCases() {
		if sparse != strings.Contains(rc.inputs, "i") {
			continue
		}
		c := &opCase{op: rc.op, attrs: rc.attrs, tol: 20}
		for i := range rc.variables {
			gen := slotGens[i]
			if strings.Contains(rc.op, "Centered") && i == 1 {
				gen = func(r *rand.Rand, _ int) float64 { return 0.1 * r.Float64() }
			}
			c.in = append(c.in, slotOf("6,3", gen))
		}
		scalars := rc.scalars
		for _, k := range rc.inputs {
			switch {
			case k == 's':
				c.in = append(c.in, scalar(tensor.Float32, scalars[0]))
				scalars = scalars[1:]
			case k == 'i':
				c.in = append(c.in, intsOf(tensor.Int64, "2B", 6))
			case sparse:
				c.in = append(c.in, feedOf("2B,3"))
			default:
				c.in = append(c.in, feedOf("6,3"))
			}
		}
		c.ref = rc.reference()
		all = append(all, c)
		if rc.op == "ResourceSparseApplyAdagrad" { // more rows than one block
			large := *c
			large.in = []operand{slotOf("900,3", normalGen), slotOf("900,3", positiveGen), c.in[2], feedOf("700B,3"), intsOf(tensor.Int32, "700B", 900)}
			all = append(all, &large)
		}
	}
	return all
}

// reference applies the rule to all elements or, with indices, to the rows that they name, summing gradients of equal index.
func (rc ruleCase) reference() func(in []nd, _ [][]int) []nd {
	return func(in []nd, _ [][]int) []nd {
		const width = 3
		var vars []nd
		for _, v := range in[:rc.variables] {
			vars = append(vars, nd{v.shape, append([]float64(nil), v.data...)})
		}
		var s []float64
		var grad nd
		var ids []float64
		for i, k := range rc.inputs {
			x := in[rc.variables+i]
			switch k {
			case 's':
				s = append(s, x.data[0])
			case 'g':
				grad = x
			default:
				ids = x.data
			}
		}
		sum := map[int]float64{}
		for i, g := range grad.data {
			at := i
			if ids != nil {
				at = int(ids[i/width])*width + i%width
			}
			sum[at] += g
		}
		for at, g := range sum {
			w := make([]float64, rc.variables)
			for k := range w {
				w[k] = vars[k].data[at]
			}
			rc.ref(w, g, s)
			for k := range w {
				vars[k].data[at] = w[k]
			}
		}
		return vars
	}
}
