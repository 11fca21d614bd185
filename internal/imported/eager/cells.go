package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// cellOps are recurrent cells, and loops over time of them.
var cellOps = map[*ops.Def]maker{
	ops.LSTMBlockCell: lstmCell,
	ops.BlockLSTM:     blockLSTM,
	ops.BlockLSTMV2:   blockLSTM,
	ops.GRUBlockCell:  plain(gruCell),
}

// lstm is an LSTM cell. Its gates are input, candidate, forget and output, in this order; in version 2 forget comes before candidate.
type lstm struct {
	forgetBias, clip float32
	peephole         bool
	candidate        int // index of the candidate among the gates
	batch, in, cells int
	w, bias          []float32
	wci, wcf, wco    []float32 // peephole weights: from the state to the gates
	xh, gates        []float32 // scratch
}

func readLSTM(s *site) lstm {
	l := lstm{forgetBias: s.node.Float("forget_bias", 1), clip: s.node.Float("cell_clip", 3), peephole: s.boolean("use_peephole", false), candidate: 1}
	if s.node.Op == ops.BlockLSTMV2.Name {
		l.forgetBias, l.clip, l.candidate = 0, s.node.Float("cell_clip", 0), 2
	}
	return l
}

// begin checks the weights in inputs 3 to 7, counted from first, and the previous states, and allocates scratch memory.
func (l lstm) begin(c call, first int, x []int) (lstm, error) {
	if err := sameType(c.in[first:]); err != nil {
		return l, err
	}
	cs, h, w := c.t(first+1).Shape, c.t(first+2).Shape, c.t(first+3).Shape
	l.batch, l.in = x[0], x[1]
	if len(cs) != 2 || cs[0] != l.batch || !slices.Equal(cs, h) {
		return l, fmt.Errorf("cs_prev and h_prev: expected shape [%d cells], got %v and %v", l.batch, cs, h)
	}
	l.cells = cs[1]
	if len(w) != 2 || w[0] != l.in+l.cells || w[1] != 4*l.cells {
		return l, fmt.Errorf("w: expected shape [%d %d], got %v", l.in+l.cells, 4*l.cells, w)
	}
	for k, what := range []string{"wci", "wcf", "wco"} {
		if shape := c.t(first + 4 + k).Shape; len(shape) != 1 || (l.peephole || first > 0) && shape[0] != l.cells {
			return l, fmt.Errorf("%s: expected shape [%d], got %v", what, l.cells, shape)
		}
	}
	if b := c.t(first + 7).Shape; len(b) != 1 || b[0] != 4*l.cells {
		return l, fmt.Errorf("b: expected shape [%d], got %v", 4*l.cells, b)
	}
	at := func(i int) []float32 { return tensor.Values[float32](c.t(first + i)) }
	l.w, l.wci, l.wcf, l.wco, l.bias = at(3), at(4), at(5), at(6), at(7)
	if err := c.room(l.batch*(l.in+5*l.cells), 4); err != nil {
		return l, err
	}
	l.xh, l.gates = make([]float32, l.batch*(l.in+l.cells)), make([]float32, l.batch*4*l.cells)
	return l, nil
}

// lstmStep has the tensors of one time step.
type lstmStep struct {
	x, cs, h []float32    // the input, and the previous state
	out      [7][]float32 // i, cs, f, o, ci, co, h
}

// step computes one time step.
func (l *lstm) step(s lstmStep) {
	joinRows(l.xh, s.x, s.h, l.in, l.cells)
	clear(l.gates)
	dense(product2{m: l.batch, n: 4 * l.cells, k: l.in + l.cells}, l.gates, l.xh, l.w)
	for b := range l.batch {
		for k := range l.cells {
			l.cell(s, b*l.cells+k, k, l.gates[b*4*l.cells:])
		}
	}
}

// cell computes cell k, whose state is at index at.
func (l *lstm) cell(s lstmStep, at, k int, gates []float32) {
	gate := func(i int) float32 { return gates[i*l.cells+k] + l.bias[i*l.cells+k] }
	in, candidate, forget, out := gate(0), gate(l.candidate), gate(3-l.candidate)+l.forgetBias, gate(3)
	before := s.cs[at]
	if l.peephole {
		in += before * l.wci[k]
		forget += before * l.wcf[k]
	}
	i, f, ci := sigmoid32(in), sigmoid32(forget), tanh32(candidate)
	cs := ci*i + f*before
	if l.clip > 0 {
		cs = min(max(cs, -l.clip), l.clip)
	}
	if l.peephole {
		out += cs * l.wco[k]
	}
	o, co := sigmoid32(out), tanh32(cs)
	for n, v := range [7]float32{i, cs, f, o, ci, co, o * co} {
		s.out[n][at] = v
	}
}

func sigmoid32(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }
func tanh32(x float32) float32    { return float32(math.Tanh(float64(x))) }

// joinRows writes the rows of a, n wide, each followed by the row of b, m wide.
func joinRows(dst, a, b []float32, n, m int) {
	for i := 0; len(dst) > 0; i++ {
		copy(dst, a[i*n:(i+1)*n])
		copy(dst[n:], b[i*m:(i+1)*m])
		dst = dst[n+m:]
	}
}

func lstmCell(s *site) (kernel, error) {
	l := readLSTM(s)
	return func(c call) error {
		x := c.t(0)
		if x.DType != tensor.Float32 || len(x.Shape) != 2 {
			return fmt.Errorf("x must be rank 2, got shape %v", x.Shape)
		}
		l, err := l.begin(c, 0, x.Shape)
		if err != nil {
			return err
		}
		st := lstmStep{x: tensor.Values[float32](x), cs: tensor.Values[float32](c.t(1)), h: tensor.Values[float32](c.t(2))}
		for i := range st.out {
			if st.out[i], err = outputOf[float32](c, i, l.batch, l.cells); err != nil {
				return err
			}
		}
		if l.batch*l.cells > 0 {
			l.step(st)
		}
		return nil
	}, nil
}

// blockLSTM runs a cell over time; the outputs after the longest sequence are 0.
func blockLSTM(s *site) (kernel, error) {
	l := readLSTM(s)
	return func(c call) error {
		steps, err := integer("seq_len_max", c.t(0))
		if err != nil {
			return err
		}
		x := c.t(1)
		if x.DType != tensor.Float32 || len(x.Shape) != 3 {
			return fmt.Errorf("x must be rank 3, got shape %v", x.Shape)
		}
		time := x.Shape[0]
		if c.t(0).DType != tensor.Int64 || steps < 0 || steps > time {
			return fmt.Errorf("seq_len_max: expected an int64 from 0 to %d, got %d", time, steps)
		}
		l, err := l.begin(c, 1, x.Shape[1:])
		if err != nil {
			return err
		}
		var out [7][]float32
		for i := range out {
			if out[i], err = outputOf[float32](c, i, time, l.batch, l.cells); err != nil {
				return err
			}
		}
		n, values := l.batch*l.cells, tensor.Values[float32](x)
		if n == 0 {
			return nil
		}
		st := lstmStep{cs: tensor.Values[float32](c.t(2)), h: tensor.Values[float32](c.t(3))}
		for t := range steps {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			st.x = values[t*l.batch*l.in : (t+1)*l.batch*l.in]
			for i := range out {
				st.out[i] = out[i][t*n : (t+1)*n]
			}
			l.step(st)
			st.cs, st.h = st.out[1], st.out[6]
		}
		return nil
	}, nil
}

// gruCell computes a GRU cell: the gates r and u, the candidate, and the new state.
func gruCell(c call) error {
	if err := sameType(c.in); err != nil {
		return err
	}
	x, h := c.t(0), c.t(1)
	if x.DType != tensor.Float32 || len(x.Shape) != 2 || len(h.Shape) != 2 || h.Shape[0] != x.Shape[0] {
		return fmt.Errorf("x and h_prev: expected float32 matrices of as many rows, got shapes %v and %v", x.Shape, h.Shape)
	}
	batch, in, cells := x.Shape[0], x.Shape[1], h.Shape[1]
	for i, want := range [][]int{2: {in + cells, 2 * cells}, 3: {in + cells, cells}, 4: {2 * cells}, 5: {cells}} {
		if want != nil && !slices.Equal(c.t(i).Shape, want) {
			return fmt.Errorf("input %d: expected shape %v, got %v", i, want, c.t(i).Shape)
		}
	}
	var out [4][]float32
	for i := range out {
		var err error
		if out[i], err = outputOf[float32](c, i, batch, cells); err != nil {
			return err
		}
	}
	if err := c.room(batch*(in+4*cells), 4); err != nil {
		return err
	}
	if batch*cells == 0 {
		return nil
	}
	at := func(i int) []float32 { return tensor.Values[float32](c.t(i)) }
	xh, gates, before := make([]float32, batch*(in+cells)), make([]float32, batch*2*cells), at(1)
	joinRows(xh, at(0), before, in, cells)
	dense(product2{m: batch, n: 2 * cells, k: in + cells}, gates, xh, at(2))
	reset := make([]float32, batch*cells)
	for b := range batch {
		for k := range cells {
			i, row := b*cells+k, gates[b*2*cells:]
			out[0][i] = sigmoid32(row[k] + at(4)[k])
			out[1][i] = sigmoid32(row[cells+k] + at(4)[cells+k])
			reset[i] = before[i] * out[0][i]
		}
	}
	joinRows(xh, at(0), reset, in, cells)
	dense(product2{m: batch, n: cells, k: in + cells}, out[2], xh, at(3))
	for i := range out[2] {
		c, u := tanh32(out[2][i]+at(5)[i%cells]), out[1][i]
		out[2][i], out[3][i] = c, u*(before[i]-c)+c
	}
	return nil
}
