package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// matmulOps are matrix products and biases.
var matmulOps = map[*ops.Def]opDef{
	ops.FusedMatMul:   {inplace: addedAt, alone: true, compile: floats(compileMatMul[float32], compileMatMul[float64])},
	ops.MatMul:        {compile: floats(compileMatMul[float32], compileMatMul[float64])},
	ops.BatchMatMulV2: {compile: floats(compileBatchMatMul[float32], compileBatchMatMul[float64])},
	ops.BiasAdd:       {inplace: []int{0}, compile: floats(compileBiasAdd[float32], compileBiasAdd[float64])},
	ops.BiasAddGrad:   {compile: floats(compileBiasAddGrad[float32], compileBiasAddGrad[float64])},
}

// product is the geometry of C [m,n] = op(A) * op(B).
type product struct {
	ta, tb   bool
	m, n, k  int
	lda, ldb int
}

// sizes reads the last two dimensions of the operands.
func (p *product) sizes(a, b, out []int) error {
	ar, ac := a[len(a)-2], a[len(a)-1]
	br, bc := b[len(b)-2], b[len(b)-1]
	p.lda, p.ldb = ac, bc
	if p.ta {
		ar, ac = ac, ar
	}
	if p.tb {
		br, bc = bc, br
	}
	p.m, p.k, p.n = ar, ac, bc
	if ac != br || out[len(out)-2] != ar || out[len(out)-1] != bc {
		return fmt.Errorf("matrices %v and %v (transposed: %v, %v) do not give %v", a, b, p.ta, p.tb, out)
	}
	return nil
}

func gemmArgs[T kernels.Float](p *product, out, a, b []T) kernels.GemmArgs[T] {
	return kernels.GemmArgs[T]{M: p.m, N: p.n, K: p.k, Alpha: 1, A: a, LDA: p.lda, TransA: p.ta,
		B: b, LDB: p.ldb, TransB: p.tb, C: out, LDC: p.n}
}

func compileMatMul[T kernels.Float](c *binding) (runFunc, error) {
	if err := matrices[T](c, 2); err != nil {
		return nil, err
	}
	a, b, out := c.in[0], c.in[1], c.out[0]
	p := &product{ta: c.node.Bool("transpose_a"), tb: c.node.Bool("transpose_b")}
	c.onBatch = func() error { return p.sizes(a.dims, b.dims, out.dims) }
	t, err := epilogueOf[T](c)
	if err != nil {
		return nil, err
	}
	if !p.ta {
		if w := packWeights[T](c, t, p.tb); w != nil {
			return func() error {
				kernels.MatMulPacked(kernels.PackedArgs[T]{M: p.m, A: view[T](a), LDA: p.lda, B: w.operand(), C: view[T](out), LDC: p.n, Epilogue: w.epilogue()})
				return nil
			}, nil
		}
	}
	return func() error {
		g := gemmArgs(p, view[T](out), view[T](a), view[T](b))
		e := kernelEpilogue[T](t)
		g.Bias, g.Relu = e.Bias, e.Relu
		kernels.Gemm(g)
		return nil
	}, t.plain()
}

// matrices checks two inputs of one type. With rank 2 they must have two dimensions, otherwise at least two.
func matrices[T kernels.Float](c *binding, rank int) error {
	if err := c.need(2, 1); err != nil {
		return err
	}
	for i, v := range c.in[:2] {
		if r := v.typ.Shape.Rank(); r < 2 || rank == 2 && r != 2 {
			return fmt.Errorf("input %d: expected a matrix, got shape %v", i, v.typ.Shape)
		}
	}
	if r := c.out[0].typ.Shape.Rank(); r < 2 || rank == 2 && r != 2 {
		return fmt.Errorf("result: expected a matrix, got shape %v", c.out[0].typ.Shape)
	}
	if err := weightsAre[T](c); err != nil {
		return err
	}
	return checkTypes[T](c.in[0], c.out[0])
}

func compileBatchMatMul[T kernels.Float](c *binding) (runFunc, error) {
	if err := matrices[T](c, 0); err != nil {
		return nil, err
	}
	a, b, out := c.in[0], c.in[1], c.out[0]
	p := &product{ta: c.node.Bool("adj_x"), tb: c.node.Bool("adj_y")}
	w := &broadcast{}
	c.onBatch = func() error {
		if err := p.sizes(a.dims, b.dims, out.dims); err != nil {
			return err
		}
		return w.prepare(a.dims[:len(a.dims)-2], b.dims[:len(b.dims)-2], out.dims[:len(out.dims)-2])
	}
	return func() error {
		x, y, z := view[T](a), view[T](b), view[T](out)
		sx, sy, sz := p.m*p.k, p.k*p.n, p.m*p.n
		for i := 0; sz > 0 && i < len(z)/sz; i++ {
			ia, ib := w.offsets(i)
			kernels.Gemm(gemmArgs(p, z[i*sz:(i+1)*sz], x[ia*sx:(ia+1)*sx], y[ib*sy:(ib+1)*sy]))
		}
		return nil
	}, nil
}

// offsets returns the indices of the operands' elements that give element i of the result.
func (w *broadcast) offsets(i int) (a, b int) {
	for k, n := range w.dims {
		a, b = a+i%n*w.sa[k], b+i%n*w.sb[k]
		i /= n
	}
	return a, b
}

func (c *binding) channelsLast() error {
	if !channelsLast(c.node) {
		return fmt.Errorf("data_format %s: expected NHWC or NDHWC", c.node.Str("data_format"))
	}
	return nil
}

func compileBiasAdd[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	x, bias, out := c.in[0], c.in[1], c.out[0]
	if r := x.typ.Shape.Rank(); r < 2 || bias.typ.Shape.Rank() != 1 || bias.typ.Shape.Dims[0] != x.typ.Shape.Dims[r-1] || !out.typ.Shape.Equal(x.typ.Shape) {
		return nil, fmt.Errorf("expected a bias for the last dimension of %v, got %v", x.typ.Shape, bias.typ.Shape)
	}
	if err := checkTypes[T](x, bias, out); err != nil {
		return nil, err
	}
	return func() error {
		rows, cols := rowsCols(x)
		kernels.BroadcastRow(kernels.Add, view[T](out), view[T](x), view[T](bias), rows, cols)
		return nil
	}, c.channelsLast()
}

func compileBiasAddGrad[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	dy, out := c.in[0], c.out[0]
	if r := dy.typ.Shape.Rank(); r < 2 || out.typ.Shape.Rank() != 1 || out.typ.Shape.Dims[0] != dy.typ.Shape.Dims[r-1] {
		return nil, fmt.Errorf("expected a result for the last dimension of %v, got %v", dy.typ.Shape, out.typ.Shape)
	}
	if err := checkTypes[T](dy, out); err != nil {
		return nil, err
	}
	return func() error {
		rows, cols := rowsCols(dy)
		kernels.ColSum(view[T](out), view[T](dy), rows, cols)
		return nil
	}, c.channelsLast()
}
