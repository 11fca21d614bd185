package onnxgraph

import (
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// recurrentOperators process a sequence.
var recurrentOperators = operators{"RNN": as(recurrent(rnnCell)), "GRU": as(recurrent(gruCell)), "LSTM": as(recurrent(lstmCell))}

// maxUnrolled is the longest sequence of known length whose steps become separate nodes; longer ones become loops.
const maxUnrolled = 128

// cell is one direction of a recurrent network.
type cell struct {
	hidden    int
	gates     int
	functions []func(x *site, u *value) *value
	r, rb     *value   // [hidden, gates*hidden]; the recurrent bias [gates*hidden], nil for none
	peeps     []*value // for an LSTM: weights [hidden] of the input, output and forget gate; nil: none
	step      func(c *cell, x *site, in *value, state []*value) []*value
	states    int
	seen      func(x *site, u *value) *value // converts sequences and states before products; nil: they stay
}

// sees returns a sequence or state as products see it.
func (c *cell) sees(x *site, u *value) *value {
	if c.seen == nil {
		return u
	}
	return c.seen(x, u)
}

// kind makes the cell of an operator.
type kind func(x *site) cell

// recurrent runs cells in one or both directions. X is [steps, batch, inputs], or with layout 1 [batch, steps, inputs].
func recurrent(k kind) func(x *site) []*value {
	return func(x *site) []*value {
		c := k(x)
		dims := x.at(2).dims()
		if len(dims) != 3 || dims[0] < 1 || dims[2] < 1 {
			refuse("recurrence weights of shape %v", dims)
		}
		c.hidden = x.int("hidden_size", dims[2])
		direction := x.str("direction", "forward")
		count := map[string]int{"forward": 1, "reverse": 1, "bidirectional": 2}[direction]
		if count != dims[0] || c.hidden != dims[2] || dims[1] != c.gates*c.hidden {
			refuse("direction %s and hidden_size %d for weights of shape %v", direction, c.hidden, dims)
		}
		batchFirst := x.flag("layout", false)
		sequence := x.sized(x.at(0), []int{-1, -1, -1})
		if batchFirst {
			sequence = x.transpose(sequence, []int{1, 0, 2})
		}
		functions := x.activations(c, count)
		var ys []*value
		ends := make([][]*value, c.states)
		for d := range count {
			c.functions = functions[d]
			y, end := x.direction(c, sequence, d, batchFirst, direction == "reverse" || d == 1)
			ys = append(ys, y)
			for i := range end {
				ends[i] = append(ends[i], end[i])
			}
		}
		y := x.op(ops.Pack, graph.Attrs{"axis": int64(1)}, ys...) // [steps, directions, batch, hidden]
		axis := int64(0)
		if batchFirst {
			y, axis = x.transpose(y, []int{2, 0, 1, 3}), 1
		}
		out := []*value{y}
		for _, e := range ends {
			out = append(out, x.op(ops.Pack, graph.Attrs{"axis": axis}, e...))
		}
		return out
	}
}

// row returns element d of an input's first axis, or nil if the input is absent.
func (x *site) row(i, d int) *value {
	if !x.has(i) {
		return nil
	}
	return x.item(x.at(i), d)
}

// direction runs one direction and returns its results [steps, batch, hidden] and the last states.
func (x *site) direction(c cell, sequence *value, d int, batchFirst, reverse bool) (*value, []*value) {
	var lengths *value
	if x.has(4) {
		lengths = x.at(4)
	}
	turn := func(v *value) *value {
		switch {
		case !reverse:
			return v
		case lengths != nil:
			return x.op(ops.ReverseSequence, graph.Attrs{"seq_dim": int64(0), "batch_dim": int64(1)}, v, lengths)
		}
		return x.op(ops.ReverseV2, nil, v, x.ints(0))
	}
	in := x.product(turn(c.sees(x, sequence)), x.transpose(x.row(1, d), []int{1, 0}))
	c.r = x.transpose(x.row(2, d), []int{1, 0})
	if b := x.row(3, d); b != nil {
		parts := x.ops(ops.Split, graph.Attrs{"num_split": int64(2)}, x.i32(0), b)
		in, c.rb = x.op(ops.AddV2, nil, in, parts[0]), parts[1]
	}
	if p := x.row(7, d); p != nil && c.states == 2 {
		c.peeps = x.ops(ops.Split, graph.Attrs{"num_split": int64(3)}, x.i32(0), p)
	}
	var state []*value
	for i := range c.states {
		state = append(state, x.initial(c, 5+i, d, batchFirst, sequence))
	}
	y, state := x.unroll(c, in, state, lengths)
	return turn(y), state
}

// initial returns the given state, or zeros [batch, hidden].
func (x *site) initial(c cell, i, d int, batchFirst bool, sequence *value) *value {
	if x.has(i) {
		v := x.at(i)
		if batchFirst {
			v = x.transpose(v, []int{1, 0, 2})
		}
		return x.item(v, d)
	}
	return x.op(ops.Fill, nil, x.pack(x.size(sequence, 1), x.i32(c.hidden)), x.scalar(sequence.dtype, 0))
}

// unroll runs all steps: as separate nodes if their number is known and not large, else as a loop.
func (x *site) unroll(c cell, in *value, state []*value, lengths *value) (*value, []*value) {
	n := -1
	if dims := in.dims(); dims != nil {
		n = dims[0]
	}
	if n >= 1 && n <= maxUnrolled && x.parent == nil {
		var ys []*value
		for t, u := range x.ops(ops.Unpack, graph.Attrs{"num": int64(n), "axis": int64(0)}, in) {
			var y *value
			y, state = c.masked(x, u, state, x.i32(t), lengths)
			ys = append(ys, y)
		}
		return x.op(ops.Pack, graph.Attrs{"axis": int64(0)}, ys...), state
	}
	first := append([]*value{x.i32(0), x.list(in.dtype)}, state...)
	known := []probes{first[0].known, {}}
	for _, v := range state {
		known = append(known, v.known)
	}
	count := x.size(in, 0)
	cond := func(x *site, now []*value) *value { return x.op(ops.Less, nil, now[0], count) }
	out := x.loop(first, known, cond, func(x *site, now []*value) []*value {
		y, next := c.masked(x, x.op(ops.GatherV2, nil, in, now[0], x.i32(0)), now[2:], now[0], lengths)
		return append([]*value{x.op(ops.AddV2, nil, now[0], x.i32(1)), x.append(now[1], y)}, next...)
	})
	return x.stacked(out[1], state[0]), out[2:]
}

// masked is a step for the rows whose sequences continue; the others keep their state, and their result is zero.
func (c cell) masked(x *site, in *value, state []*value, t, lengths *value) (*value, []*value) {
	next := c.step(&c, x, in, state)
	if lengths == nil {
		return next[0], next
	}
	going := x.op(ops.ExpandDims, nil, x.op(ops.Less, nil, t, lengths), x.i32(1))
	y := x.op(ops.SelectV2, nil, going, next[0], x.scalar(in.dtype, 0))
	for i := range next {
		next[i] = x.op(ops.SelectV2, nil, going, next[i], state[i])
	}
	return y, next
}

// recur returns the state's contribution to the gates.
func (c *cell) recur(x *site, h *value) *value {
	y := x.op(ops.MatMul, nil, c.sees(x, h), c.r)
	if c.rb != nil {
		y = x.op(ops.AddV2, nil, y, c.rb)
	}
	return y
}

// parts splits a matrix into one for each gate.
func (c *cell) parts(x *site, u *value) []*value {
	return x.ops(ops.Split, graph.Attrs{"num_split": int64(c.gates)}, x.i32(1), u)
}

func rnnCell(x *site) cell {
	clip := x.clipped()
	return cell{gates: 1, states: 1, step: func(c *cell, x *site, in *value, state []*value) []*value {
		return []*value{c.functions[0](x, clip(x, x.op(ops.AddV2, nil, in, c.recur(x, state[0]))))}
	}}
}

// gruCell has the gates update, reset and hidden.
func gruCell(x *site) cell {
	clip, before := x.clipped(), x.flag("linear_before_reset", false)
	return cell{gates: 3, states: 1, step: func(c *cell, x *site, in *value, state []*value) []*value {
		h := state[0]
		u, s := c.parts(x, in), c.parts(x, c.recur(x, h))
		z := c.functions[0](x, clip(x, x.op(ops.AddV2, nil, u[0], s[0])))
		r := c.functions[0](x, clip(x, x.op(ops.AddV2, nil, u[1], s[1])))
		var hidden *value
		if before {
			hidden = x.op(ops.Mul, nil, r, s[2])
		} else {
			hidden = c.parts(x, c.recur(x, x.op(ops.Mul, nil, r, h)))[2]
		}
		hidden = c.functions[1](x, clip(x, x.op(ops.AddV2, nil, u[2], hidden)))
		// (1-z)*hidden + z*h
		return []*value{x.op(ops.AddV2, nil, hidden, x.op(ops.Mul, nil, z, x.op(ops.Sub, nil, h, hidden)))}
	}}
}

// lstmCell has the gates input, output, forget and cell.
func lstmCell(x *site) cell {
	clip, coupled := x.clipped(), x.flag("input_forget", false)
	return cell{gates: 4, states: 2, step: func(c *cell, x *site, in *value, state []*value) []*value {
		h, memory := state[0], state[1]
		g := c.parts(x, x.op(ops.AddV2, nil, in, c.recur(x, h)))
		peep := func(gate *value, i int, memory *value) *value {
			if c.peeps != nil {
				gate = x.op(ops.AddV2, nil, gate, x.op(ops.Mul, nil, c.peeps[i], memory))
			}
			return c.functions[0](x, clip(x, gate))
		}
		input := peep(g[0], 0, memory)
		forget := x.op(ops.Sub, nil, x.scalar(input.dtype, 1), input)
		if !coupled {
			forget = peep(g[2], 2, memory)
		}
		fresh := c.functions[1](x, clip(x, g[3]))
		next := x.op(ops.AddV2, nil, x.op(ops.Mul, nil, forget, memory), x.op(ops.Mul, nil, input, fresh))
		output := peep(g[1], 1, next)
		return []*value{x.op(ops.Mul, nil, output, c.functions[2](x, next)), next}
	}}
}

// clipped returns a function that clips the inputs of activations.
func (x *site) clipped() func(x *site, u *value) *value {
	most := x.float("clip", 0)
	return func(x *site, u *value) *value {
		if most == 0 {
			return u
		}
		return x.bounded(u, -most, most)
	}
}

// activations returns the functions of each direction.
func (x *site) activations(c cell, directions int) [][]func(x *site, u *value) *value {
	defaults := map[int][]string{1: {"Tanh"}, 3: {"Sigmoid", "Tanh"}, 4: {"Sigmoid", "Tanh", "Tanh"}}[c.gates]
	names := x.strList("activations")
	if names == nil {
		for range directions {
			names = append(names, defaults...)
		}
	}
	alphas, betas := x.floatList("activation_alpha"), x.floatList("activation_beta")
	if len(names) != len(defaults)*directions {
		refuse("activations %v: expected %d", names, len(defaults)*directions)
	}
	all := make([][]func(x *site, u *value) *value, directions)
	for i, name := range names {
		a := &activation{name: strings.ToLower(name)}
		a.alpha, alphas = a.parameter(alphas, alphaDefaults)
		a.beta, betas = a.parameter(betas, betaDefaults)
		if !a.known() {
			refuse("activation %s", name)
		}
		all[i/len(defaults)] = append(all[i/len(defaults)], a.apply)
	}
	return all
}

// activation is an activation function of a recurrent network.
type activation struct {
	name        string
	alpha, beta float64
}

// The defaults of parameters; functions that are not listed have none.
var (
	alphaDefaults = map[string]float64{"leakyrelu": 0.01, "thresholdedrelu": 1, "scaledtanh": 1, "hardsigmoid": 0.2, "elu": 1, "affine": 1}
	betaDefaults  = map[string]float64{"scaledtanh": 1, "hardsigmoid": 0.5, "affine": 0}
)

// parameter takes the function's parameter, if it has one, from a list with the parameters of all functions.
func (a *activation) parameter(list []float32, defaults map[string]float64) (float64, []float32) {
	def, has := defaults[a.name]
	if !has || len(list) == 0 {
		return def, list
	}
	return float64(list[0]), list[1:]
}

var simpleActivations = map[string]*ops.Def{"tanh": ops.Tanh, "sigmoid": ops.Sigmoid, "relu": ops.Relu, "softsign": ops.Softsign, "softplus": ops.Softplus}

func (a *activation) known() bool {
	_, has := alphaDefaults[a.name]
	return has || simpleActivations[a.name] != nil
}

func (a *activation) apply(x *site, u *value) *value {
	zero := func() *value { return x.scalar(u.dtype, 0) }
	switch a.name {
	case "leakyrelu":
		return x.pieces(u, x.times(u, a.alpha))
	case "thresholdedrelu":
		return x.op(ops.SelectV2, nil, x.op(ops.Greater, nil, u, x.scalar(u.dtype, a.alpha)), u, zero())
	case "scaledtanh":
		return x.times(x.op(ops.Tanh, nil, x.times(u, a.beta)), a.alpha)
	case "hardsigmoid":
		return x.bounded(x.plus(x.times(u, a.alpha), a.beta), 0, 1)
	case "elu":
		return x.pieces(u, x.times(x.op(ops.Expm1, nil, u), a.alpha))
	case "affine":
		return x.plus(x.times(u, a.alpha), a.beta)
	}
	return x.op(simpleActivations[a.name], nil, u)
}
