package kernels

import (
	"math"
	"unsafe"
)

// Attention is softmax(Scale * Q·Kᵀ)·V for every example and head, in blocks of scores, so that memory is linear in the
// lengths (Dao et al., "FlashAttention", 2022). Consecutive query heads share one head of keys and values: head h reads head
// h / (Heads/Groups).
type Attention[T Float] struct {
	Batch, Heads, Groups int
	Queries, Keys        int // lengths
	Depth, Width         int // size of a head: of queries and keys, and of values

	Q []T // [Batch, Queries, Heads, Depth]
	K []T // [Batch, Keys, Groups, Depth]
	V []T // [Batch, Keys, Groups, Width]

	Out []T // [Batch, Queries, Heads, Width]
	LSE []T // [Batch, Heads, Queries]: log of the sum of exp(score); +Inf, with a result of 0, if a query sees no key

	Scale   T
	Causal  bool    // query i sees keys 0..i
	Mask    []bool  // nil, or whether a query sees a key
	MaskAt  [4]int  // strides of Mask for examples, heads, queries and keys; 0 where it broadcasts
	Drop    float64 // share of the weights that is set to 0; the others are multiplied by 1/(1-Drop)
	Numbers Rand    // number i of the stream decides whether element i of the weights [Batch, Heads, Queries, Keys] is dropped
}

// AttentionGrad has the gradients of an Attention whose Out and LSE are computed.
type AttentionGrad[T Float] struct {
	DOut       []T // Out's gradient
	DQ, DK, DV []T // results, with the shapes of Q, K and V
}

const (
	queryBlock     = 64  // queries whose scores are computed at once
	gradQueryBlock = 256 // queries of the gradient, which adds to the gradients of keys and values once for all of them
	keyBlock       = 256 // keys for both
)

// attentionJob is one Attention in progress.
type attentionJob[T Float] struct {
	Attention[T]
	grad     *AttentionGrad[T]
	perHead  int // blocks of queries
	backward bool
}

var (
	attentions32 freelist[attentionJob[float32]]
	attentions64 freelist[attentionJob[float64]]
)

func attentions[T Float]() *freelist[attentionJob[T]] {
	if is32[T]() {
		return (*freelist[attentionJob[T]])(unsafe.Pointer(&attentions32))
	}
	return (*freelist[attentionJob[T]])(unsafe.Pointer(&attentions64))
}

// Attend computes Out and LSE on all workers.
func Attend[T Float](a Attention[T]) {
	a.check()
	if a.Batch*a.Heads*a.Queries == 0 {
		return
	}
	j := attentions[T]().get()
	j.Attention, j.backward = a, false
	j.perHead = ceilDiv(a.Queries, queryBlock)
	parallelEach(a.Batch*a.Heads*j.perHead, j)
	*j = attentionJob[T]{}
	attentions[T]().put(j)
}

// AttendGrad computes the gradients on all workers, one head of keys at a time.
func AttendGrad[T Float](a Attention[T], g AttentionGrad[T]) {
	a.check()
	_, _, _, _ = g.DOut[:len(a.Out)], g.DQ[:len(a.Q)], g.DK[:len(a.K)], g.DV[:len(a.V)]
	Fill(g.DQ, 0)
	Fill(g.DK, 0)
	Fill(g.DV, 0)
	if a.Batch*a.Heads*a.Queries*a.Keys == 0 {
		return
	}
	j := attentions[T]().get()
	j.Attention, j.backward, j.grad = a, true, &g
	parallelEach(a.Batch*a.Groups, j)
	*j = attentionJob[T]{}
	attentions[T]().put(j)
}

// check panics like an index out of range if a slice is too short.
func (a *Attention[T]) check() {
	rows := a.Batch * a.Queries * a.Heads
	_, _, _ = a.Q[:rows*a.Depth], a.Out[:rows*a.Width], a.LSE[:rows]
	_, _ = a.K[:a.Batch*a.Keys*a.Groups*a.Depth], a.V[:a.Batch*a.Keys*a.Groups*a.Width]
	if a.Groups < 1 || a.Heads%a.Groups != 0 {
		panic("kernels: the heads of an attention are no multiple of its groups")
	}
	if a.Mask != nil && rows*a.Keys > 0 {
		_ = a.Mask[(a.Batch-1)*a.MaskAt[0]+(a.Heads-1)*a.MaskAt[1]+(a.Queries-1)*a.MaskAt[2]+(a.Keys-1)*a.MaskAt[3]]
	}
}

// Run implements Task over blocks of queries or, for the gradient, heads of keys.
func (j *attentionJob[T]) Run(lo, hi int) {
	s := scratches[T]().get()
	for i := lo; i < hi; i++ {
		if j.backward {
			j.headGrad(i/j.Groups, i%j.Groups, s)
			continue
		}
		block := i % j.perHead
		w := attentionBlock[T]{attentionJob: j, b: i / j.perHead / j.Heads, h: i / j.perHead % j.Heads, q0: block * queryBlock}
		w.q1 = min(w.q0+queryBlock, j.Queries)
		w.forward(s)
	}
	scratches[T]().put(s)
}

// attentionBlock is one block of queries of a head, with its current block of keys.
type attentionBlock[T Float] struct {
	*attentionJob[T]
	b, h   int
	q0, q1 int
	k0, k1 int
}

func (w *attentionBlock[T]) group() int { return w.h / (w.Heads / w.Groups) }

// Offsets of rows.
func (w *attentionBlock[T]) query(i int) int { return ((w.b*w.Queries+i)*w.Heads + w.h) * w.Depth }
func (w *attentionBlock[T]) out(i int) int   { return ((w.b*w.Queries+i)*w.Heads + w.h) * w.Width }
func (w *attentionBlock[T]) key(k int) int   { return ((w.b*w.Keys+k)*w.Groups + w.group()) * w.Depth }
func (w *attentionBlock[T]) value(k int) int { return ((w.b*w.Keys+k)*w.Groups + w.group()) * w.Width }
func (w *attentionBlock[T]) lse(i int) int   { return (w.b*w.Heads+w.h)*w.Queries + i }

// seen returns how many keys, from k0 on, the causal mask lets query i see.
func (w *attentionBlock[T]) seen(i int) int {
	if !w.Causal {
		return w.k1 - w.k0
	}
	return min(max(i+1-w.k0, 0), w.k1-w.k0)
}

// last returns the end of the keys that the block sees.
func (w *attentionBlock[T]) last() int {
	if w.Causal {
		return min(w.Keys, w.q1)
	}
	return w.Keys
}

// scores sets s [queries, keys] to the scaled products.
func (w *attentionBlock[T]) scores(s []T) {
	gemmSerial(GemmArgs[T]{M: w.q1 - w.q0, N: w.k1 - w.k0, K: w.Depth, Alpha: w.Scale,
		A: w.Q[w.query(w.q0):], LDA: w.Heads * w.Depth, B: w.K[w.key(w.k0):], LDB: w.Groups * w.Depth, TransB: true,
		C: s, LDC: w.k1 - w.k0})
}

// hide sets the scores of keys that query i does not see to -Inf.
func (w *attentionBlock[T]) hide(row []T, i int) {
	none := T(math.Inf(-1))
	Fill(row[w.seen(i):], none)
	if w.Mask == nil {
		return
	}
	at := w.b*w.MaskAt[0] + w.h*w.MaskAt[1] + i*w.MaskAt[2] + w.k0*w.MaskAt[3]
	for c := range row[:w.seen(i)] {
		if !w.Mask[at] {
			row[c] = none
		}
		at += w.MaskAt[3]
	}
}

// forward computes the block's results, one block of keys after the other. Larger scores scale down the sums so far.
func (w *attentionBlock[T]) forward(s *scratch[T]) {
	rows := w.q1 - w.q0
	all := s.take(rows*keyBlock + 2*queryBlock + keyBlock + dropSlack)
	top, sum, buf := all[rows*keyBlock:][:rows], all[rows*keyBlock+queryBlock:][:rows], all[rows*keyBlock+2*queryBlock:]
	Fill(top, T(math.Inf(-1)))
	Fill(sum, 0)
	for w.k0 = 0; w.k0 < w.last(); w.k0 = w.k1 {
		w.k1 = min(w.k0+keyBlock, w.last())
		cols := w.k1 - w.k0
		p := all[:rows*cols]
		w.scores(p)
		for r := range rows {
			w.weigh(p[r*cols:][:cols], &top[r], &sum[r], w.q0+r)
		}
		w.drop(p, cols, buf)
		beta := T(1)
		if w.k0 == 0 {
			beta = 0
		}
		gemmSerial(GemmArgs[T]{M: rows, N: w.Width, K: cols, Alpha: 1, A: p, LDA: cols, B: w.V[w.value(w.k0):], LDB: w.Groups * w.Width,
			Beta: beta, C: w.Out[w.out(w.q0):], LDC: w.Heads * w.Width})
	}
	for r := range rows {
		o := w.Out[w.out(w.q0+r):][:w.Width]
		if sum[r] == 0 {
			Fill(o, 0)
			w.LSE[w.lse(w.q0+r)] = T(math.Inf(1))
			continue
		}
		scaleRange(o, 1/sum[r])
		w.LSE[w.lse(w.q0+r)] = top[r] + T(math.Log(float64(sum[r])))
	}
}

// weigh turns the scores of query i into exp(score - top), where top is the largest so far, and scales the sums so far.
func (w *attentionBlock[T]) weigh(row []T, top, sum *T, i int) {
	if w.Causal || w.Mask != nil {
		w.hide(row, i)
	}
	m := maxRange(row)
	if m == T(math.Inf(-1)) && *top == m {
		Fill(row, 0)
		return
	}
	if m > *top || m != m {
		if scale := T(math.Exp(float64(*top - m))); w.k0 > 0 {
			*sum *= scale
			scaleRange(w.Out[w.out(i):][:w.Width], scale)
		}
		*top = m
	}
	addScalarRange(row, row, -*top)
	unaryRange(Exp, row, row)
	*sum += sumRange(row)
}

// dropSlack is the most numbers of a group before the first one wanted.
const dropSlack = 4

// drop sets the share Drop of the weights p to 0 and scales the others.
func (w *attentionBlock[T]) drop(p []T, cols int, buf []T) {
	if w.Drop == 0 {
		return
	}
	size, keep := groupSize[T](), T(1/(1-w.Drop))
	f := random{kind: uniform, rand: w.Numbers}
	for r := range w.q1 - w.q0 {
		first := ((w.b*w.Heads+w.h)*w.Queries+w.q0+r)*w.Keys + w.k0
		u := buf[:first%size+cols]
		fillGroups(&f, u, first/size)
		row := p[r*cols:][:cols]
		for c, v := range u[first%size:] {
			if v >= T(w.Drop) {
				row[c] *= keep
			} else {
				row[c] = 0
			}
		}
	}
}
