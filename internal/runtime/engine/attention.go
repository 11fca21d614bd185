package engine

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// attentionOps are scaled dot-product attention and its gradient.
var attentionOps = map[*ops.Def]opDef{
	ops.Attention:     {compile: floats(compileAttention[float32], compileAttention[float64])},
	ops.AttentionGrad: {compile: floats(compileAttentionGrad[float32], compileAttentionGrad[float64])},
}

// attention are the operands of one attention or of its gradient.
type attention struct {
	q, k, v, out, lse *value
	mask              *value // nil for none
	key, counter      *value // dropout's, nil for none
	causal            bool
	drop              float64
}

func compileAttention[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(3, 2); err != nil {
		return nil, err
	}
	a := &attention{q: c.in[0], k: c.in[1], v: c.in[2], out: c.out[0], lse: c.out[1]}
	if err := errors.Join(a.read(c, c.in[3:]), checkTypes[T](a.q, a.k, a.v, a.out, a.lse)); err != nil {
		return nil, err
	}
	return func() error {
		kernels.Attend(attentionArgs[T](a))
		return nil
	}, nil
}

func compileAttentionGrad[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(6, 3); err != nil {
		return nil, err
	}
	a := &attention{q: c.in[0], k: c.in[1], v: c.in[2], out: c.in[3], lse: c.in[4]}
	dout := c.in[5]
	err := errors.Join(a.read(c, c.in[6:]), checkTypes[T](a.q, a.k, a.v, a.out, a.lse, dout, c.out[0], c.out[1], c.out[2]),
		checkShape("gradient", dout, a.out.typ.Shape.Dims), checkShape("dq", c.out[0], a.q.typ.Shape.Dims),
		checkShape("dk", c.out[1], a.k.typ.Shape.Dims), checkShape("dv", c.out[2], a.v.typ.Shape.Dims))
	return func() error {
		kernels.AttendGrad(attentionArgs[T](a), kernels.AttentionGrad[T]{DOut: view[T](dout),
			DQ: view[T](c.out[0]), DK: view[T](c.out[1]), DV: view[T](c.out[2])})
		return nil
	}, err
}

// read reads the attributes and the optional operands, and checks shapes.
func (a *attention) read(c *binding, more []*value) error {
	for i, v := range []*value{a.q, a.k, a.v, a.out} {
		if err := checkRank(fmt.Sprint("operand ", i), v, 4); err != nil {
			return err
		}
	}
	a.causal = c.node.Bool("causal")
	if d, ok := c.node.Attrs["drop"].(float32); ok {
		a.drop = float64(d)
	}
	if c.node.Bool("masked") {
		if len(more) == 0 {
			return errors.New("expected a mask")
		}
		a.mask, more = more[0], more[1:]
		if err := a.checkMask(); err != nil {
			return err
		}
	}
	if !(a.drop >= 0 && a.drop < 1) {
		return fmt.Errorf("drop is %v: expected 0 <= drop < 1", a.drop)
	}
	if a.drop > 0 {
		if len(more) != 2 || more[0].typ.DType != tensor.Uint64 || more[1].typ.DType != tensor.Uint64 ||
			!more[0].typ.Shape.Equal(graph.ShapeOf(1)) || !more[1].typ.Shape.Equal(graph.ShapeOf(2)) {
			return errors.New("expected key uint64 [1] and counter uint64 [2] for dropout")
		}
		a.key, a.counter = more[0], more[1]
	}
	q, k, v := a.q.typ.Shape.Dims, a.k.typ.Shape.Dims, a.v.typ.Shape.Dims
	if k[0] != q[0] || k[3] != q[3] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || !q[2].Static() || !k[2].Static() ||
		k[2].Const < 1 || q[2].Const%k[2].Const != 0 {
		return fmt.Errorf("queries %v, keys %v and values %v do not go together", a.q.typ.Shape, a.k.typ.Shape, a.v.typ.Shape)
	}
	return errors.Join(checkShape("result", a.out, []graph.Dim{q[0], q[1], q[2], v[3]}), checkShape("lse", a.lse, []graph.Dim{q[0], q[2], q[1]}))
}

func (a *attention) checkMask() error {
	q, k, m := a.q.typ.Shape.Dims, a.k.typ.Shape.Dims, a.mask.typ.Shape.Dims
	full := []graph.Dim{q[0], q[2], q[1], k[1]}
	fits := len(m) == len(full) && a.mask.typ.DType == tensor.Bool
	for i := 0; fits && i < len(m); i++ {
		fits = m[i] == full[i] || m[i] == graph.Fixed(1)
	}
	if !fits {
		return fmt.Errorf("mask %v %v: expected bool that broadcasts to %v", a.mask.typ.DType, a.mask.typ.Shape, graph.Shape{Dims: full})
	}
	return nil
}

// attentionArgs returns the operands for the current batch.
func attentionArgs[T kernels.Float](a *attention) kernels.Attention[T] {
	q, k, v := a.q.dims, a.k.dims, a.v.dims
	g := kernels.Attention[T]{Batch: q[0], Heads: q[2], Groups: k[2], Queries: q[1], Keys: k[1], Depth: q[3], Width: v[3],
		Q: view[T](a.q), K: view[T](a.k), V: view[T](a.v), Out: view[T](a.out), LSE: view[T](a.lse),
		Scale: T(1 / math.Sqrt(float64(q[3]))), Causal: a.causal, Drop: a.drop}
	if a.mask != nil {
		g.Mask = view[bool](a.mask)
		step := 1
		for i := 3; i >= 0; i-- {
			if a.mask.dims[i] > 1 {
				g.MaskAt[i] = step
			}
			step *= a.mask.dims[i]
		}
	}
	if a.key != nil {
		n := view[uint64](a.counter)
		g.Numbers = kernels.Rand{Key: view[uint64](a.key)[0], Counter: [2]uint64{n[0], n[1]}}
	}
	return g
}
