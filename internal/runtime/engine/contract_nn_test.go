package engine

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func matmulCases() []*opCase {
	var all []*opCase
	for _, s := range []struct {
		a, b, out string
		ta, tb    bool
	}{
		{"B,5", "5,7", "B,7", false, false}, {"B,5", "7,5", "B,7", false, true}, {"B,5", "B,7", "5,7", true, false},
		{"5,B", "7,5", "B,7", true, true}, {"B,1", "1,1", "B,1", false, false}, {"B,130", "130,33", "B,33", false, false}, {"B,3", "3,B", "B,B", false, false},
	} {
		for _, a := range []operand{feedOf(s.a), edgeFeedOf(s.a)} {
			all = append(all, &opCase{op: "MatMul", attrs: graph.Attrs{"transpose_a": s.ta, "transpose_b": s.tb}, tol: 8,
				in: []operand{a, feedOf(s.b)}, out: []graph.Type{fl(s.out)}, ref: matmulRef(s.ta, s.tb)})
		}
	}
	for _, s := range []struct {
		a, b, out string
		x, y      bool
	}{
		{"B,2,3,4", "B,2,4,5", "B,2,3,5", false, false}, {"B,3,4", "4,5", "B,3,5", false, false}, {"B,2,3,4", "2,5,4", "B,2,3,5", false, true},
		{"2,4,3", "B,1,5,4", "B,2,3,5", true, true},
	} {
		all = append(all, &opCase{op: "BatchMatMulV2", attrs: graph.Attrs{"adj_x": s.x, "adj_y": s.y}, tol: 8,
			in: []operand{feedOf(s.a), feedOf(s.b)}, out: []graph.Type{fl(s.out)}, ref: matmulRef(s.x, s.y)})
	}
	for _, s := range []string{"B,6", "B,3,2,6"} {
		all = append(all,
			&opCase{op: "BiasAdd", in: []operand{edgeFeedOf(s), edgeFeedOf("6")}, out: []graph.Type{fl(s)}, ref: mapped(func(x ...float64) float64 { return x[0] + x[1] })},
			&opCase{op: "BiasAddGrad", tol: 4, in: []operand{feedOf(s)}, out: []graph.Type{fl("6")}, ref: func(in []nd, out [][]int) []nd {
				r := newND(out[0])
				for i, x := range in[0].data {
					r.data[i%6] += x
				}
				return []nd{r}
			}})
	}
	return all
}

// matmulRef multiplies the last two dimensions, the others broadcast.
func matmulRef(ta, tb bool) func(in []nd, out [][]int) []nd {
	return func(in []nd, out [][]int) []nd {
		a, b, r := in[0], in[1], newND(out[0])
		ra, rb, ro := len(a.shape), len(b.shape), len(r.shape)
		m, n := r.shape[ro-2], r.shape[ro-1]
		k := a.shape[ra-1]
		if ta {
			k = a.shape[ra-2]
		}
		for i := range r.data {
			group, row, col := i/(m*n), i/n%m, i%n
			ga := broadcastIndex(group, r.shape[:ro-2], a.shape[:ra-2]) * m * k
			gb := broadcastIndex(group, r.shape[:ro-2], b.shape[:rb-2]) * k * n
			for j := range k {
				ia, ib := ga+row*k+j, gb+j*n+col
				if ta {
					ia = ga + j*m + row
				}
				if tb {
					ib = gb + col*k + j
				}
				r.data[i] += a.data[ia] * b.data[ib]
			}
		}
		return []nd{r}
	}
}

// rowsOf is the reference of an op on rows of the last dimension.
func rowsOf(f func(dst, x []float64)) func(in []nd, out [][]int) []nd {
	return func(in []nd, out [][]int) []nd {
		r := newND(out[0])
		n := out[0][len(out[0])-1]
		for i := 0; i < len(r.data); i += n {
			f(r.data[i:i+n], in[0].data[i:i+n])
		}
		return []nd{r}
	}
}

func softmaxRow(dst, x []float64) {
	logSoftmaxRow(dst, x)
	for i, e := range dst {
		dst[i] = math.Exp(e)
	}
}

func logSoftmaxRow(dst, x []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, e := range x {
		top = max(top, e)
	}
	for _, e := range x {
		sum += math.Exp(e - top)
	}
	for i, e := range x {
		dst[i] = e - top - math.Log(sum)
	}
}

// logitGen draws logits. Some are far from the others, and some rows have no finite one.
func logitGen(r *rand.Rand, i int) float64 {
	return []float64{normalGen(r, i), 0, 1, 1000, -1000, math.Inf(-1), math.Inf(-1), math.Inf(1), math.NaN(), 1e30}[min(r.IntN(30), 9)]
}

func logitsOf(s string) operand { return operand{typ: fl(s), gen: logitGen} }

func softmaxCases() []*opCase {
	var all []*opCase
	for _, s := range []string{"B,10", "B,3,5", "7", "B,1", "B,40"} {
		for _, o := range []operand{feedOf(s), logitsOf(s)} {
			all = append(all, &opCase{op: "Softmax", in: []operand{o}, out: []graph.Type{fl(s)}, ref: rowsOf(softmaxRow)},
				&opCase{op: "LogSoftmax", in: []operand{o}, out: []graph.Type{fl(s)}, ref: rowsOf(logSoftmaxRow)})
		}
	}
	for _, n := range []int{5, 40} {
		s := fmt.Sprint("B,", n)
		out := []graph.Type{fl("B"), fl(s)}
		for _, logits := range []operand{feedOf(s), logitsOf(s)} {
			for _, labels := range []operand{positive(s), edgeFeedOf(s)} {
				all = append(all, &opCase{op: "SoftmaxCrossEntropyWithLogits", in: []operand{logits, labels}, out: out, tol: 4, ref: xentRef})
			}
			for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
				all = append(all, &opCase{op: "SparseSoftmaxCrossEntropyWithLogits", in: []operand{logits, intsOf(d, "B", n)}, out: out, ref: sparseXentRef})
			}
		}
	}
	return all
}

func xentRef(in []nd, out [][]int) []nd {
	loss, back := newND(out[0]), newND(out[1])
	n := out[1][1]
	for r := range loss.data {
		log, p := make([]float64, n), back.data[r*n:(r+1)*n]
		logSoftmaxRow(log, in[0].data[r*n:(r+1)*n])
		for i := range p {
			l := in[1].data[r*n+i]
			loss.data[r] -= l * log[i]
			p[i] = math.Exp(log[i]) - l
		}
	}
	return []nd{loss, back}
}

func sparseXentRef(in []nd, out [][]int) []nd {
	loss, back := newND(out[0]), newND(out[1])
	n := out[1][1]
	for r, l := range in[1].data {
		log, p := make([]float64, n), back.data[r*n:(r+1)*n]
		logSoftmaxRow(log, in[0].data[r*n:(r+1)*n])
		for i := range p {
			p[i] = math.Exp(log[i])
		}
		loss.data[r] = -log[int(l)]
		p[int(l)]--
	}
	return []nd{loss, back}
}

// window2 is one geometry of the convolution and pooling cases.
type window2 struct {
	in       string // B,H,W,C
	kh, kw   int
	outC     int
	stride   [2]int
	dilation int
	padding  string
	explicit []int64
	out      string
}

var windows = []window2{
	{in: "B,5,6,3", kh: 3, kw: 3, outC: 4, stride: [2]int{1, 1}, padding: "SAME", out: "B,5,6"},
	{in: "B,5,6,3", kh: 3, kw: 2, outC: 4, stride: [2]int{1, 1}, padding: "VALID", out: "B,3,5"},
	{in: "B,7,6,2", kh: 3, kw: 3, outC: 5, stride: [2]int{2, 2}, padding: "SAME", out: "B,4,3"},
	{in: "B,7,7,2", kh: 2, kw: 2, outC: 3, stride: [2]int{2, 3}, padding: "VALID", out: "B,3,2"},
	{in: "B,4,4,3", kh: 1, kw: 1, outC: 6, stride: [2]int{1, 1}, padding: "SAME", out: "B,4,4"},
	{in: "B,5,5,2", kh: 1, kw: 1, outC: 3, stride: [2]int{2, 2}, padding: "SAME", out: "B,3,3"},
	{in: "B,8,8,2", kh: 3, kw: 3, outC: 3, stride: [2]int{1, 1}, dilation: 2, padding: "VALID", out: "B,4,4"},
	{in: "B,5,4,2", kh: 3, kw: 3, outC: 3, stride: [2]int{2, 1}, padding: "EXPLICIT", explicit: []int64{0, 0, 1, 0, 2, 1, 0, 0}, out: "B,2,5"},
	{in: "B,1,1,1", kh: 1, kw: 1, outC: 1, stride: [2]int{1, 1}, padding: "VALID", out: "B,1,1"},
}

func (w *window2) attrs() graph.Attrs {
	a := graph.Attrs{"strides": []int64{1, int64(w.stride[0]), int64(w.stride[1]), 1}, "padding": []byte(w.padding), "data_format": []byte("NHWC")}
	if w.dilation > 1 {
		a["dilations"] = []int64{1, int64(w.dilation), int64(w.dilation), 1}
	}
	if w.explicit != nil {
		a["explicit_paddings"] = w.explicit
	}
	return a
}

// taps calls f for every output pixel and filter tap that meets the image: n, oh, ow, kh, kw, h, w.
func (w *window2) taps(in, out []int, f func(n, oh, ow, kh, kw, h, x int)) {
	d := max(w.dilation, 1)
	top, left := 0, 0
	switch w.padding {
	case "SAME":
		top = max((out[1]-1)*w.stride[0]+(w.kh-1)*d+1-in[1], 0) / 2
		left = max((out[2]-1)*w.stride[1]+(w.kw-1)*d+1-in[2], 0) / 2
	case "EXPLICIT":
		top, left = int(w.explicit[2]), int(w.explicit[4])
	}
	for n := range in[0] {
		for oh := range out[1] {
			for ow := range out[2] {
				for kh := range w.kh {
					for kw := range w.kw {
						h, x := oh*w.stride[0]-top+kh*d, ow*w.stride[1]-left+kw*d
						if h >= 0 && h < in[1] && x >= 0 && x < in[2] {
							f(n, oh, ow, kh, kw, h, x)
						}
					}
				}
			}
		}
	}
}

// flat returns the offset of an index in a tensor of rank 4.
func flat(s []int, a, b, c, d int) int { return ((a*s[1]+b)*s[2]+c)*s[3] + d }

func convCases() []*opCase {
	var all []*opCase
	for i := range windows {
		w := &windows[i]
		inC := sh(w.in).Dims[3].Const
		all = append(all, w.convCases("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", graph.ShapeOf(w.kh, w.kw, inC, w.outC), w.outC, false)...)
		for _, m := range []int{1, 2} {
			all = append(all, w.convCases("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter", graph.ShapeOf(w.kh, w.kw, inC, m), inC*m, true)...)
		}
	}
	return all
}

// convCases are the three ops of one kind of convolution. All sum x*w*y over (x, w, y) triples, differently.
func (w *window2) convCases(op, inputGrad, filterGrad string, filter graph.Shape, outC int, depthwise bool) []*opCase {
	x, k := feedOf(w.in), operand{typ: graph.Type{DType: tensor.Float32, Shape: filter}, gen: normalGen}
	y := feedOf(w.out)
	y.typ.Shape.Dims = append(y.typ.Shape.Dims, graph.Fixed(outC))
	triples := func(xs, ks, ys []int, f func(x, k, y int)) {
		w.taps(xs, ys, func(n, oh, ow, kh, kw, h, q int) {
			for c := range ks[2] {
				for m := range ks[3] {
					o := m
					if depthwise {
						o = c*ks[3] + m
					}
					f(flat(xs, n, h, q, c), flat(ks, kh, kw, c, m), flat(ys, n, oh, ow, o))
				}
			}
		})
	}
	sizes := func(o operand) operand {
		v := make([]float64, 4)
		for i, d := range o.typ.Shape.Dims {
			v[i] = float64(max(d.Const, 0))
			if d.PerBatch > 0 {
				v[i] = -1
			}
		}
		return ints(v...)
	}
	return []*opCase{
		{op: op, attrs: w.attrs(), tol: 10, in: []operand{x, k}, out: []graph.Type{y.typ}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			triples(in[0].shape, in[1].shape, out[0], func(x, k, y int) { r.data[y] += in[0].data[x] * in[1].data[k] })
			return []nd{r}
		}},
		{op: inputGrad, attrs: w.attrs(), tol: 10, in: []operand{sizes(x), k, y}, out: []graph.Type{x.typ}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			triples(out[0], in[1].shape, in[2].shape, func(x, k, y int) { r.data[x] += in[2].data[y] * in[1].data[k] })
			return []nd{r}
		}},
		{op: filterGrad, attrs: w.attrs(), tol: 10, in: []operand{x, sizes(k), y}, out: []graph.Type{k.typ}, ref: func(in []nd, out [][]int) []nd {
			r := newND(out[0])
			triples(in[0].shape, out[0], in[2].shape, func(x, k, y int) { r.data[k] += in[0].data[x] * in[2].data[y] })
			return []nd{r}
		}},
	}
}
