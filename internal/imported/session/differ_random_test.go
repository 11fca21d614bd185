package session_test

import (
	"maps"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// choices are the bytes that a sample is drawn from; 0 once they have run out.
type choices struct {
	data []byte
	at   int
}

// below returns a number in [0, n).
func (c *choices) below(n int) int {
	if n <= 1 || c.at >= len(c.data) {
		return 0
	}
	c.at++
	return int(c.data[c.at-1]) % n
}

// often is true three times out of four.
func (c *choices) often() bool { return c.below(4) != 3 }

func one[T any](c *choices, of ...T) T { return of[c.below(len(of))] }

// size returns a size of a dimension: small, often 0 or 1.
func (c *choices) size() int { return one(c, 2, 3, 1, 4, 5, 0) }

func (c *choices) shape(most int) []int {
	s := make([]int, c.below(most+1))
	for i := range s {
		s[i] = c.size()
	}
	return s
}

// odd returns a number that ops seldom get.
func (c *choices) odd() int {
	return one(c, -1, 0, 1, 2, 3, 4, 5, 7, -2, -3, -5, 100, 1<<20, 1<<21, 1<<30, math.MaxInt32, math.MinInt32)
}

// point is the shape of a scalar, or sometimes of a vector.
func (c *choices) point() []int {
	if c.below(12) == 11 {
		return []int{c.size()}
	}
	return nil
}

// near returns n, a number close to it, or any number.
func (c *choices) near(n int) int {
	switch c.below(8) {
	case 5:
		return n - 1
	case 6:
		return n + 1
	case 7:
		return c.odd()
	}
	return n
}

// outputOf returns small whole numbers: with them float ops differ by rounding alone.
func (c *choices) tensor(d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		v := c.below(9) - 4
		switch d {
		case tensor.Float32:
			tensor.Values[float32](t)[i] = float32(v)
		case tensor.Int32:
			tensor.Values[int32](t)[i] = int32(v)
		case tensor.Int64:
			tensor.Values[int64](t)[i] = int64(v)
		case tensor.Bool:
			tensor.Values[bool](t)[i] = v > 0
		}
	}
	return t
}

func numbers32(v ...int) *tensor.Tensor { return shaped32(v, len(v)) }

func shaped32(v []int, shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.Int32, shape...)
	for i, x := range v {
		tensor.Values[int32](t)[i] = int32(x)
	}
	return t
}

func scalar32(v int) *tensor.Tensor { return shaped32([]int{v}) }

// operand makes a tensor a constant or a feed.
func (c *choices) operand(t *tensor.Tensor) operand { return operand{t: t, fed: c.below(4) == 1} }

// numbers returns an operand of integers, which is mostly a constant, as in models.
func (c *choices) numbers(v ...int) operand { return c.operand(numbers32(v...)) }

func (c *choices) scalar(v int) operand { return c.operand(scalar32(v)) }

// axes returns some dimensions of a rank, sometimes with wrong or repeated ones.
func (c *choices) axes(rank int) []int {
	var out []int
	for range c.below(3) {
		a := c.near(c.below(max(rank, 1)))
		if c.below(3) == 1 {
			a -= rank
		}
		out = append(out, a)
	}
	return out
}

func (c *choices) axis(rank int) int {
	a := c.near(c.below(max(rank, 1)))
	if c.below(3) == 1 {
		a -= rank
	}
	return a
}

// subject is a value that the next step takes, with its operand.
type subject struct {
	operand
	x *tensor.Tensor
}

func (s subject) rank() int { return len(s.x.Shape) }

// dim returns the size of a dimension, or 1 if there is none.
func (s subject) dim(i int) int {
	if i < 0 {
		i += s.rank()
	}
	if i < 0 || i >= s.rank() {
		return 1
	}
	return s.x.Shape[i]
}

// maker draws a step with a subject as input.
type maker func(c *choices, s subject) step

// floatStep is an op of floats with a float result.
func floatStep(op string, attrs graph.Attrs, in ...operand) step {
	all := graph.Attrs{"T": tensor.Float32}
	maps.Copy(all, attrs)
	return step{op: op, attrs: all, in: in, outs: []tensor.DType{tensor.Float32}}
}

// unary makes ops of one input.
func unary(op string) maker {
	return func(c *choices, s subject) step { return floatStep(op, nil, s.operand) }
}

// partner returns a shape that mostly broadcasts with x.
func (c *choices) partner(x []int) []int {
	y := slices.Clone(x[c.below(len(x)+1):])
	if c.often() && c.below(3) != 0 {
		y = slices.Clone(x)
	}
	for i := range y {
		switch c.below(6) {
		case 4:
			y[i] = 1
		case 5:
			y[i] = max(0, y[i]+1-c.below(3))
		}
	}
	return y
}

// binary makes ops of two inputs that broadcast.
func binary(op string, out tensor.DType) maker {
	return func(c *choices, s subject) step {
		y := c.operand(c.tensor(tensor.Float32, c.partner(s.x.Shape)...))
		in := []operand{s.operand, y}
		if c.below(2) == 1 {
			slices.Reverse(in)
		}
		return step{op: op, attrs: graph.Attrs{"T": tensor.Float32}, in: in, outs: []tensor.DType{out}}
	}
}

func reduction(op string) maker {
	return func(c *choices, s subject) step {
		return floatStep(op, graph.Attrs{"Tidx": tensor.Int32, "keep_dims": c.below(2) == 1}, s.operand, c.numbers(c.axes(s.rank())...))
	}
}

func extreme(op string) maker {
	return func(c *choices, s subject) step {
		return step{op: op, attrs: graph.Attrs{"T": tensor.Float32, "Tidx": tensor.Int32, "output_type": tensor.Int64}, in: []operand{s.operand, c.scalar(c.axis(s.rank()))}, outs: []tensor.DType{tensor.Int64}}
	}
}

func reshapeStep(c *choices, s subject) step {
	to := slices.Clone(s.x.Shape)
	switch c.below(5) {
	case 1:
		to = []int{-1}
	case 2:
		to = c.shape(4)
	case 3:
		to = append(to, 1)
		slices.Reverse(to)
	case 4:
		to = append(c.shape(2), -1)
	}
	for i := range to {
		switch c.below(10) {
		case 8:
			to[i] = -1
		case 9:
			to[i] = c.near(to[i])
		}
	}
	return floatStep("Reshape", graph.Attrs{"Tshape": tensor.Int32}, s.operand, c.numbers(to...))
}

func (c *choices) permutation(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := range p {
		j := i + c.below(n-i)
		p[i], p[j] = p[j], p[i]
	}
	for i := range p {
		if c.below(12) == 11 {
			p[i] = c.odd()
		}
	}
	return p
}

// windowAttrs are attributes of an op that moves a window over images of the subject's sizes.
func (c *choices) windowAttrs(s subject) graph.Attrs {
	attrs := graph.Attrs{"T": tensor.Float32, "strides": []int64{1, int64(1 + c.below(3)), int64(1 + c.below(5)), 1}, "padding": []byte(one(c, "VALID", "SAME"))}
	if c.below(12) == 11 {
		attrs["strides"].([]int64)[c.below(4)] = int64(c.odd())
	}
	return attrs
}

// explicit sometimes makes paddings explicit.
func (c *choices) explicit(attrs graph.Attrs) {
	if c.below(3) == 2 {
		p := make([]int64, 8)
		for i := 2; i < 6; i++ {
			p[i] = int64(c.below(4))
		}
		if c.below(6) == 5 {
			p[c.below(8)] = int64(c.odd())
		}
		attrs["padding"], attrs["explicit_paddings"] = []byte("EXPLICIT"), p[:8-c.below(20)/19]
	}
	if c.below(20) == 19 {
		attrs["explicit_paddings"] = make([]int64, one(c, 8, 4))
	}
}

func convStep(op string) maker {
	return func(c *choices, s subject) step {
		attrs := c.windowAttrs(s)
		c.explicit(attrs)
		if c.below(3) == 1 {
			attrs["dilations"] = []int64{1, int64(1 + c.below(3)), int64(1 + c.below(2)), 1}
		}
		channels := s.dim(3)
		if op == "Conv2D" && channels > 1 && c.below(6) == 5 {
			channels = 1 + c.below(channels) // groups
		}
		f := []int{1 + c.below(3), 1 + c.below(3), max(0, c.near(channels)%9), c.size()}
		if c.below(10) == 9 {
			f[c.below(2)] = c.below(9)
		}
		return step{op: op, attrs: attrs, in: []operand{s.operand, c.operand(c.tensor(tensor.Float32, f...))}, outs: []tensor.DType{tensor.Float32}}
	}
}

func poolStep(op string) maker {
	return func(c *choices, s subject) step {
		attrs := c.windowAttrs(s)
		attrs["ksize"] = []int64{1, int64(1 + c.below(4)), int64(1 + c.below(4)), 1}
		if op == "MaxPool" {
			c.explicit(attrs)
		}
		if c.below(12) == 11 {
			attrs["ksize"].([]int64)[c.below(4)] = int64(c.odd())
		}
		return step{op: op, attrs: attrs, in: []operand{s.operand}, outs: []tensor.DType{tensor.Float32}}
	}
}

func biasStep(c *choices, s subject) step {
	return floatStep("BiasAdd", nil, s.operand, c.operand(c.tensor(tensor.Float32, c.near(s.dim(-1))&7)))
}

func matMulStep(c *choices, s subject) step {
	attrs := graph.Attrs{"transpose_a": c.below(2) == 1, "transpose_b": c.below(2) == 1}
	k := s.dim(1)
	if attrs["transpose_a"] == true {
		k = s.dim(0)
	}
	other := []int{c.near(k) & 7, c.size()}
	if attrs["transpose_b"] == true {
		slices.Reverse(other)
	}
	if c.below(12) == 11 {
		other = c.shape(3)
	}
	return floatStep("MatMul", attrs, s.operand, c.operand(c.tensor(tensor.Float32, other...)))
}

func batchMatMulStep(c *choices, s subject) step {
	attrs := graph.Attrs{"adj_x": c.below(2) == 1, "adj_y": c.below(2) == 1}
	k := s.dim(-1)
	if attrs["adj_x"] == true {
		k = s.dim(-2)
	}
	other := []int{c.near(k) & 7, c.size()}
	if attrs["adj_y"] == true {
		slices.Reverse(other)
	}
	if s.rank() > 2 {
		other = append(c.partner(s.x.Shape[:s.rank()-2]), other...)
	}
	return floatStep("BatchMatMulV2", attrs, s.operand, c.operand(c.tensor(tensor.Float32, other...)))
}

func einsumStep(c *choices, s subject) step {
	eq := one(c, "ab,bc->ac", "ab,cb->ca", "abc,cd->abd", "ab,ab->a", "ab,b->a", "abc,abd->acd")
	second := map[string][]int{"ab,bc->ac": {s.dim(1), 2}, "ab,cb->ca": {2, s.dim(1)}, "abc,cd->abd": {s.dim(2), 3}, "ab,ab->a": {s.dim(0), s.dim(1)},
		"ab,b->a": {s.dim(1)}, "abc,abd->acd": {s.dim(0), s.dim(1), 2}}[eq]
	for i := range second {
		second[i] = c.near(second[i]) & 7
	}
	return floatStep("Einsum", graph.Attrs{"equation": []byte(eq), "N": int64(2)}, s.operand, c.operand(c.tensor(tensor.Float32, second...)))
}

func selectStep(op string) maker {
	return func(c *choices, s subject) step {
		other := s.x.Shape
		if op == "SelectV2" || c.below(5) == 4 {
			other = c.partner(other)
		}
		cond := s.x.Shape
		switch c.below(4) {
		case 1:
			cond = nil
		case 2:
			cond = []int{s.dim(0)}
		case 3:
			cond = c.partner(cond)
		}
		in := []operand{c.operand(c.tensor(tensor.Bool, cond...)), s.operand, c.operand(c.tensor(tensor.Float32, other...))}
		if c.below(2) == 1 {
			slices.Reverse(in[1:])
		}
		return floatStep(op, nil, in...)
	}
}

func concatStep(c *choices, s subject) step {
	other := slices.Clone(s.x.Shape)
	a := c.axis(s.rank())
	if k := (a + s.rank()) % max(s.rank(), 1); k >= 0 && k < s.rank() {
		other[k] = c.size()
	}
	if c.below(8) == 7 {
		other = c.shape(3)
	}
	return floatStep("ConcatV2", graph.Attrs{"N": int64(2), "Tidx": tensor.Int32}, s.operand, c.operand(c.tensor(tensor.Float32, other...)), c.scalar(a))
}

func packStep(c *choices, s subject) step {
	other := s.x.Shape
	if c.below(8) == 7 {
		other = c.partner(other)
	}
	return floatStep("Pack", graph.Attrs{"N": int64(2), "axis": int64(c.axis(s.rank() + 1))}, s.operand, c.operand(c.tensor(tensor.Float32, other...)))
}

func outputs(n int) []tensor.DType { return slices.Repeat([]tensor.DType{tensor.Float32}, n) }

func unpackStep(c *choices, s subject) step {
	a := c.axis(s.rank())
	n := min(max(c.near(s.dim(a)), 1), 9)
	st := floatStep("Unpack", graph.Attrs{"num": int64(n), "axis": int64(a)}, s.operand)
	st.outs = outputs(n)
	return st
}

func splitStep(c *choices, s subject) step {
	n := 1 + c.below(4)
	st := floatStep("Split", graph.Attrs{"num_split": int64(n)}, c.scalar(c.axis(s.rank())), s.operand)
	st.outs = outputs(n)
	return st
}

func splitVStep(c *choices, s subject) step {
	n := 1 + c.below(3)
	a := c.axis(s.rank())
	sizes, left := make([]int, n), s.dim(a)
	for i := range sizes {
		sizes[i] = c.below(left + 1)
		if i == n-1 {
			sizes[i] = left
		}
		left -= sizes[i]
	}
	for i := range sizes {
		switch c.below(8) {
		case 6:
			sizes[i] = -1
		case 7:
			sizes[i] = c.near(sizes[i])
		}
	}
	st := floatStep("SplitV", graph.Attrs{"num_split": int64(n), "Tlen": tensor.Int32}, s.operand, c.numbers(sizes...), c.scalar(a))
	st.outs = outputs(n)
	return st
}

// indices returns numbers below n, sometimes one out of range.
func (c *choices) indices(n int, shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.Int32, shape...)
	for i := range tensor.Values[int32](t) {
		tensor.Values[int32](t)[i] = int32(c.below(n))
	}
	if l := t.Len(); l > 0 && c.below(4) == 3 {
		tensor.Values[int32](t)[c.below(l)] = int32(one(c, n, -1, c.odd()))
	}
	return t
}

func gatherStep(c *choices, s subject) step {
	a := c.axis(s.rank())
	attrs := graph.Attrs{"Tparams": tensor.Float32, "Tindices": tensor.Int32, "Taxis": tensor.Int32, "batch_dims": int64(0)}
	shape := c.shape(2)
	if c.below(4) == 3 {
		attrs["batch_dims"] = int64(one(c, 1, 2, -1, 0, -5))
		shape = append([]int{s.dim(0)}, shape...)
	}
	return floatStep("GatherV2", attrs, s.operand, c.operand(c.indices(s.dim(a), shape...)), c.scalar(a))
}

func gatherNdStep(c *choices, s subject) step {
	shape := append(c.shape(2), c.below(s.rank()+1))
	if c.below(10) == 9 {
		shape = c.shape(2)
	}
	least := 9
	for _, d := range s.x.Shape {
		least = min(least, max(d, 1))
	}
	return floatStep("GatherNd", graph.Attrs{"Tparams": tensor.Float32, "Tindices": tensor.Int32}, s.operand, c.operand(c.indices(least, shape...)))
}

func scatterNdStep(c *choices, s subject) step {
	n := s.dim(0)
	shape := append([]int{c.near(3) & 7}, s.x.Shape[min(1, s.rank()):]...)
	return floatStep("ScatterNd", graph.Attrs{"Tindices": tensor.Int32}, c.operand(c.indices(3, n, 1)), s.operand, c.numbers(shape...))
}

func segmentStep(op string) maker {
	return func(c *choices, s subject) step {
		ids := s.x.Shape[:c.below(s.rank()+1)]
		if c.below(8) == 7 {
			ids = c.shape(2)
		}
		n := c.near(c.below(4))
		return floatStep(op, graph.Attrs{"Tindices": tensor.Int32, "Tnumsegments": tensor.Int32}, s.operand, c.operand(c.indices(max(n, 1), ids...)), c.scalar(n))
	}
}

// pairs returns [rank,2] small numbers.
func (c *choices) pairs(rank int) operand {
	v := make([]int, 2*rank)
	for i := range v {
		v[i] = c.below(3)
	}
	if len(v) > 0 && c.below(6) == 5 {
		v[c.below(len(v))] = c.odd()
	}
	if c.below(12) == 11 {
		return c.operand(shaped32(append(v, 0), len(v)+1))
	}
	return c.operand(shaped32(v, rank, 2))
}

func padStep(op string) maker {
	return func(c *choices, s subject) step {
		st := floatStep(op, graph.Attrs{"Tpaddings": tensor.Int32}, s.operand, c.pairs(s.rank()))
		switch op {
		case "PadV2":
			st.in = append(st.in, c.operand(c.tensor(tensor.Float32, c.point()...)))
		case "MirrorPad":
			st.attrs["mode"] = []byte(one(c, "REFLECT", "SYMMETRIC"))
		}
		return st
	}
}

func sliceStep(c *choices, s subject) step {
	begin, size := make([]int, s.rank()), make([]int, s.rank())
	for i, d := range s.x.Shape {
		begin[i] = c.below(d + 1)
		if size[i] = -1; c.often() {
			size[i] = c.below(d - begin[i] + 1)
		}
		if c.below(10) == 9 {
			begin[i], size[i] = c.near(begin[i]), c.near(size[i])
		}
	}
	if c.below(16) == 15 {
		size = append(size, 1)
	}
	return floatStep("Slice", graph.Attrs{"Index": tensor.Int32}, s.operand, c.numbers(begin...), c.numbers(size...))
}

func stridedSliceStep(c *choices, s subject) step {
	n := min(c.below(4), s.rank()+1)
	var spec [3][]int
	for i := range n {
		d := s.dim(i)
		spec[0], spec[1], spec[2] = append(spec[0], c.near(c.below(d+1))), append(spec[1], c.near(c.below(d+2))), append(spec[2], one(c, 1, 1, 2, -1, -2, 3, 0, c.odd()))
	}
	attrs := graph.Attrs{"Index": tensor.Int32}
	for _, name := range []string{"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"} {
		mask := 0
		if c.below(3) == 2 {
			mask = c.below(8)
		}
		attrs[name] = int64(mask)
	}
	return floatStep("StridedSlice", attrs, s.operand, c.numbers(spec[0]...), c.numbers(spec[1]...), c.numbers(spec[2]...))
}

func broadcastToStep(c *choices, s subject) step {
	to := append(c.shape(1), s.x.Shape...)
	for i := range to {
		if to[i] == 1 || c.below(8) == 7 {
			to[i] = c.near(c.size())
		}
	}
	return floatStep("BroadcastTo", graph.Attrs{"Tidx": tensor.Int32}, s.operand, c.numbers(to...))
}

func tileStep(c *choices, s subject) step {
	by := make([]int, s.rank())
	for i := range by {
		by[i] = c.near(c.below(4))
	}
	if c.below(16) == 15 {
		by = append(by, 2)
	}
	return floatStep("Tile", graph.Attrs{"Tmultiples": tensor.Int32}, s.operand, c.numbers(by...))
}

func expandStep(c *choices, s subject) step {
	return floatStep("ExpandDims", graph.Attrs{"Tdim": tensor.Int32}, s.operand, c.scalar(c.axis(s.rank()+1)))
}

func squeezeStep(c *choices, s subject) step {
	var dims []int64
	for i, d := range s.x.Shape {
		if d == 1 && c.below(2) == 1 || c.below(12) == 11 {
			dims = append(dims, int64(c.near(i)))
		}
	}
	return floatStep("Squeeze", graph.Attrs{"squeeze_dims": dims}, s.operand)
}

// rangeStep uses no subject.
func rangeStep(c *choices, s subject) step {
	return step{op: "Range", attrs: graph.Attrs{"Tidx": tensor.Int32}, in: []operand{c.scalar(c.below(7) - 3), c.scalar(c.near(c.below(9) - 4)), c.scalar(c.below(6) - 2)}, outs: []tensor.DType{tensor.Int32}}
}

func fillStep(c *choices, s subject) step {
	return floatStep("Fill", graph.Attrs{"index_type": tensor.Int32}, c.numbers(c.near(c.size()), c.near(c.size())), c.operand(c.tensor(tensor.Float32, c.point()...)))
}

func oneHotStep(c *choices, s subject) step {
	depth := c.near(c.size())
	on := c.tensor(tensor.Float32, c.point()...)
	return floatStep("OneHot", graph.Attrs{"TI": tensor.Int32, "axis": int64(c.near(-1))}, c.operand(c.indices(max(depth, 1), c.shape(2)...)), c.scalar(depth), c.operand(on), c.operand(c.tensor(tensor.Float32)))
}

func topKStep(c *choices, s subject) step {
	st := floatStep("TopKV2", graph.Attrs{"sorted": true, "index_type": tensor.Int32, "Tk": tensor.Int32}, s.operand, c.scalar(c.near(c.below(s.dim(-1)+1))))
	st.outs = append(st.outs, tensor.Int32)
	return st
}

func cumStep(op string) maker {
	return func(c *choices, s subject) step {
		return floatStep(op, graph.Attrs{"Tidx": tensor.Int32, "exclusive": c.below(2) == 1, "reverse": c.below(2) == 1}, s.operand, c.scalar(c.axis(s.rank())))
	}
}

func addNStep(c *choices, s subject) step {
	other := s.x.Shape
	if c.below(6) == 5 {
		other = c.partner(other)
	}
	return floatStep("AddN", graph.Attrs{"N": int64(2)}, s.operand, c.operand(c.tensor(tensor.Float32, other...)))
}

func castStep(c *choices, s subject) step {
	return step{op: "Cast", attrs: graph.Attrs{"SrcT": tensor.Float32, "DstT": tensor.Int32, "Truncate": false}, in: []operand{s.operand}, outs: []tensor.DType{tensor.Int32}}
}

func batchNormStep(c *choices, s subject) step {
	n := s.dim(-1)
	in := []operand{s.operand}
	for range 4 {
		t := tensor.New(tensor.Float32, c.near(n)&7)
		for i := range tensor.Values[float32](t) {
			tensor.Values[float32](t)[i] = float32(1 + c.below(3))
		}
		in = append(in, c.operand(t))
	}
	st := floatStep("FusedBatchNormV3", graph.Attrs{"U": tensor.Float32, "is_training": false, "epsilon": float32(.5), "data_format": []byte("NHWC")}, in...)
	st.outs = outputs(6)
	return st
}

func resizeStep(op string) maker {
	return func(c *choices, s subject) step {
		return floatStep(op, graph.Attrs{"align_corners": c.below(3) == 2, "half_pixel_centers": c.below(3) == 2}, s.operand, c.numbers(c.near(c.size()), c.near(c.size())))
	}
}

func blockStep(op string) maker {
	return func(c *choices, s subject) step {
		return floatStep(op, graph.Attrs{"block_size": int64(c.near(2)), "data_format": []byte("NHWC")}, s.operand)
	}
}

func batchBlockStep(op string) maker {
	return func(c *choices, s subject) step {
		n := 1 + c.below(2)
		block := make([]int, n)
		for i := range block {
			block[i] = c.near(one(c, 1, 2))
		}
		attrs := graph.Attrs{"Tblock_shape": tensor.Int32, "Tpaddings": tensor.Int32}
		if op == "BatchToSpaceND" {
			attrs = graph.Attrs{"Tblock_shape": tensor.Int32, "Tcrops": tensor.Int32}
		}
		shape := one(c, []int{n}, []int{n}, []int{n}, []int{n}, []int{1, n})
		return floatStep(op, attrs, s.operand, c.operand(shaped32(block, shape...)), c.pairs(n))
	}
}

func reverseStep(c *choices, s subject) step {
	return floatStep("ReverseV2", graph.Attrs{"Tidx": tensor.Int32}, s.operand, c.numbers(c.axes(s.rank())...))
}

func rollStep(c *choices, s subject) step {
	axes := c.axes(s.rank())
	by := make([]int, len(axes))
	for i := range by {
		by[i] = c.near(c.below(3))
	}
	return floatStep("Roll", graph.Attrs{"Tshift": tensor.Int32, "Taxis": tensor.Int32}, s.operand, c.numbers(by...), c.numbers(axes...))
}

func bandStep(c *choices, s subject) step {
	return floatStep("MatrixBandPart", graph.Attrs{"Tindex": tensor.Int32}, s.operand, c.scalar(c.near(c.below(3))), c.scalar(c.near(c.below(3))))
}

func sequenceStep(c *choices, s subject) step {
	lengths := c.indices(max(s.dim(1), 1), s.dim(0))
	return floatStep("ReverseSequence", graph.Attrs{"Tlen": tensor.Int32, "seq_dim": int64(c.near(1)), "batch_dim": int64(c.near(0))}, s.operand, c.operand(lengths))
}

func shapeStep(op string) maker {
	return func(c *choices, s subject) step {
		return step{op: op, attrs: graph.Attrs{"T": tensor.Float32, "out_type": tensor.Int32}, in: []operand{s.operand}, outs: []tensor.DType{tensor.Int32}}
	}
}

func inTopKStep(c *choices, s subject) step {
	targets := c.indices(max(s.dim(1), 1), c.near(s.dim(0))&7)
	return step{op: "InTopKV2", attrs: graph.Attrs{"T": tensor.Int32}, in: []operand{s.operand, c.operand(targets), c.scalar(c.near(c.below(3)))}, outs: []tensor.DType{tensor.Bool}}
}

func transposeStep(c *choices, s subject) step {
	return floatStep("Transpose", graph.Attrs{"Tperm": tensor.Int32}, s.operand, c.numbers(c.permutation(s.rank())...))
}

// makers has all ops that samples use, ops with their own rules first.
var makers = []maker{
	convStep("Conv2D"), convStep("DepthwiseConv2dNative"), poolStep("MaxPool"), poolStep("AvgPool"), reshapeStep, gatherStep, gatherNdStep, stridedSliceStep, sliceStep,
	segmentStep("UnsortedSegmentSum"), segmentStep("UnsortedSegmentMax"), selectStep("Select"), selectStep("SelectV2"), reduction("Sum"), reduction("Mean"), reduction("Max"),
	reduction("Min"), reduction("Prod"), rangeStep, broadcastToStep, tileStep, fillStep, oneHotStep, padStep("Pad"), padStep("PadV2"), padStep("MirrorPad"),
	concatStep, packStep, unpackStep, splitStep, splitVStep, transposeStep, expandStep, squeezeStep, matMulStep, batchMatMulStep, einsumStep, biasStep, topKStep,
	extreme("ArgMax"), extreme("ArgMin"), cumStep("Cumsum"), cumStep("Cumprod"), addNStep, castStep, batchNormStep, resizeStep("ResizeBilinear"), resizeStep("ResizeNearestNeighbor"),
	blockStep("SpaceToDepth"), blockStep("DepthToSpace"), batchBlockStep("SpaceToBatchND"), batchBlockStep("BatchToSpaceND"), reverseStep, rollStep, bandStep, sequenceStep,
	scatterNdStep, shapeStep("Shape"), shapeStep("Size"), shapeStep("Rank"), inTopKStep, unary("Relu"), unary("Tanh"), unary("Softmax"), unary("LogSoftmax"), unary("L2Loss"),
	unary("ZerosLike"), unary("Identity"), binary("AddV2", tensor.Float32), binary("Mul", tensor.Float32), binary("Less", tensor.Bool), binary("Maximum", tensor.Float32),
}

// draw makes a sample of up to four steps. Each uses the previous step's result if it can.
func draw(data []byte) sample {
	c := &choices{data: data}
	shape := c.shape(4)
	if c.below(2) == 0 {
		shape = []int{c.size(), c.size(), c.size(), c.size()}
	}
	x := c.tensor(tensor.Float32, shape...)
	s := subject{fedOf(x), x}
	var all sample
	var values [][]eager.Value
	for range 1 + c.below(4) {
		st := makers[c.below(len(makers))](c, s)
		all = append(all, st)
		out, err := st.eagerly(values)
		if err != nil {
			break
		}
		values = append(values, out)
		if out[0].T.DType != tensor.Float32 || out[0].T.Len() > 1<<12 || slices.Max(append([]int{0}, out[0].T.Shape...)) > 1<<10 {
			break // the operands of another step would be too large
		}
		s = subject{operand{from: len(all)}, out[0].T}
	}
	return all
}
