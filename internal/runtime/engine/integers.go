package engine

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// integerOps are products of 8-bit integers.
var integerOps = map[*ops.Def]opDef{
	ops.IntegerMatMul: {compile: compileIntegerMatMul},
	ops.IntegerConv2D: {compile: compileIntegerConv},
}

// integerInputs are the inputs of an integer op besides its operands.
type integerInputs struct {
	a, b, zeroA, zeroB, bias, scale, add, zero *value
	out                                        *value
}

// integerInputs reads and checks the inputs.
func (c *binding) integerInputs() (*integerInputs, error) {
	if err := c.need(8, 1); err != nil {
		return nil, err
	}
	in := c.in
	t := &integerInputs{in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], c.out[0]}
	for i, v := range in {
		var ok bool
		switch d := v.typ.DType; {
		case i < 2:
			ok = d == tensor.Int8 || d == tensor.Uint8
		case i == 5 || i == 6:
			ok = d == tensor.Float32
		default:
			ok = d == tensor.Int32
		}
		if !ok {
			return nil, fmt.Errorf("input %d of type %v", i, v.typ.DType)
		}
	}
	b, r := t.b.typ.Shape.Dims, t.out.typ.Shape.Rank()
	if len(b) < 2 || t.a.typ.Shape.Rank() < 2 || r < 2 || t.out.typ.Shape.Dims[r-1] != b[len(b)-1] {
		return nil, fmt.Errorf("matrices %v and %v do not give %v", t.a.typ.Shape, t.b.typ.Shape, t.out.typ.Shape)
	}
	return t, nil
}

// check fails if an input for the columns has the wrong length.
func (t *integerInputs) check() error {
	n := t.b.dims[len(t.b.dims)-1]
	for _, v := range []*value{t.zeroA, t.zero} {
		if v.n != 1 {
			return fmt.Errorf("a zero point of %d elements", v.n)
		}
	}
	for _, v := range []*value{t.zeroB, t.scale} {
		if v.n != n && v.n != 1 {
			return fmt.Errorf("%d numbers for %d columns", v.n, n)
		}
	}
	for _, v := range []*value{t.bias, t.add} {
		if v.n != n && v.n != 0 {
			return fmt.Errorf("%d addends for %d columns", v.n, n)
		}
	}
	return nil
}

// product returns the kernels' form, without operands.
func (t *integerInputs) product() kernels.ByteProduct {
	p := kernels.ByteProduct{SignedA: t.a.typ.DType == tensor.Int8, ZeroA: view[int32](t.zeroA)[0], ZeroB: view[int32](t.zeroB)}
	if t.bias.n > 0 {
		p.Bias = view[int32](t.bias)
	}
	if t.add.n > 0 {
		p.Add = view[float32](t.add)
	}
	p.Scale = view[float32](t.scale)
	switch t.out.typ.DType {
	case tensor.Int32:
		p.Ints = view[int32](t.out)
	case tensor.Float32:
		p.Floats = view[float32](t.out)
	default:
		p.Bytes, p.Zero, p.Signed = t.out.bytes(), view[int32](t.zero)[0], t.out.typ.DType == tensor.Int8
	}
	return p
}

// byteWeights is the packed right operand of a byte product.
type byteWeights struct {
	mu     sync.Mutex
	made   atomic.Uint64 // the version of the variable that was packed, plus 1
	packed *kernels.PackedBytes
}

func (w *byteWeights) memory() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.packed == nil {
		return 0
	}
	return w.packed.Memory()
}

func (w *byteWeights) holds(x *variable) bool { return w.made.Load() == 1+x.version }

func (w *byteWeights) unpack(raw []byte) { w.packed.Unpack(raw) }

// bytePacker keeps the packed weights of one op up to date.
type bytePacker struct {
	*byteWeights
	shared *sharedWeights
	source *variable // nil for a constant
	w      *value
}

// packBytes returns a packer for input 1, nil if the input is not steady.
func packBytes(c *binding) *bytePacker {
	v, ok := steady(c.op.in[1], c.changing)
	if !ok || !columnsKnown(c.in[1].typ.Shape) {
		return nil
	}
	p := &bytePacker{shared: c.shared, source: v, w: c.in[1]}
	if v == nil {
		p.byteWeights = &byteWeights{}
		c.own = append(c.own, p.byteWeights)
		return p
	}
	key := weightsKey{w: v, columns: weightColumns(p.w)}
	p.byteWeights = c.shared.acquire(key, func() packed { return &byteWeights{} }).(*byteWeights)
	c.weights, c.packed = append(c.weights, key), append(c.packed, 1)
	return p
}

// operand returns the weights, packed again if the variable has changed.
func (p *bytePacker) operand() *kernels.PackedBytes {
	w, version := p.byteWeights, versionOf(p.source)
	if w.made.Load() != version {
		if p.source != nil {
			p.shared.need(p.source)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.made.Load() != version {
			w.packed = packedBytes(p.w, p.w.bytes())
			w.made.Store(version)
		}
	}
	return w.packed
}

// packedBytes packs a matrix, or a filter as a matrix.
func packedBytes(v *value, b []byte) *kernels.PackedBytes {
	n := v.dims[len(v.dims)-1]
	return kernels.PackBytes(b, n, len(b)/max(n, 1), n, false, v.typ.DType == tensor.Int8)
}

func compileIntegerMatMul(c *binding) (runFunc, error) {
	t, err := c.integerInputs()
	if err != nil {
		return nil, err
	}
	rank := len(t.b.dims)
	lead := &broadcast{}
	c.onBatch = func() error {
		a, b, out := t.a.dims, t.b.dims, t.out.dims
		last := len(a) - 1
		rows := slices.Equal(a[:last], out[:len(out)-1]) // any number of dimensions times one matrix
		if rank > 2 {
			rows = a[last-1] == out[len(out)-2]
		}
		if !rows || a[last] != b[rank-2] || out[len(out)-1] != b[rank-1] {
			return fmt.Errorf("matrices %v and %v do not give %v", a, b, out)
		}
		if rank > 2 {
			if err := lead.prepare(a[:len(a)-2], b[:rank-2], out[:len(out)-2]); err != nil {
				return err
			}
		}
		return t.check()
	}
	if rank > 2 {
		return func() error { t.multiplyEach(lead); return nil }, nil
	}
	w := packBytes(c)
	return func() error {
		p := t.product()
		p.M, p.A, p.LDA = t.out.n/max(t.b.dims[1], 1), t.a.bytes(), t.b.dims[0]
		if w != nil {
			p.B = w.operand()
		} else {
			p.B = packedBytes(t.b, t.b.bytes())
		}
		kernels.MultiplyBytes(p)
		return nil
	}, nil
}

// multiplyEach multiplies matrix by matrix.
func (t *integerInputs) multiplyEach(lead *broadcast) {
	k, n := t.b.dims[len(t.b.dims)-2], t.b.dims[len(t.b.dims)-1]
	p := t.product()
	p.M, p.LDA = t.out.dims[len(t.out.dims)-2], k
	size := p.M * n
	if size == 0 {
		return
	}
	a, b := t.a.bytes(), t.b.bytes()
	for i := range t.out.n / size {
		ia, ib := lead.offsets(i)
		q := p
		q.A, q.B = a[ia*p.M*k:(ia+1)*p.M*k], packedBytes(t.b, b[ib*k*n:(ib+1)*k*n])
		q.From(i * size)
		kernels.MultiplyBytes(q)
	}
}

func compileIntegerConv(c *binding) (runFunc, error) {
	t, err := c.integerInputs()
	if err != nil {
		return nil, err
	}
	if x, f := t.a.typ.Shape.Dims, t.b.typ.Shape.Dims; len(x) != 4 || len(f) != 4 || len(t.out.dims) != 4 || x[3] != f[2] {
		return nil, fmt.Errorf("expected images and a filter of their channels, got %v and %v", t.a.typ.Shape, t.b.typ.Shape)
	}
	attrs, err := c.windowAttrs()
	if err != nil {
		return nil, err
	}
	var win kernels.Volume
	c.onBatch = func() error {
		var sizes []int
		var err error
		if win, sizes, err = images.over(attrs, t.a.dims, t.b.dims); err != nil {
			return err
		}
		if err := checkResult(t.a.dims, sizes, t.out.dims); err != nil {
			return err
		}
		return t.check()
	}
	w := packBytes(c)
	return func() error {
		p := t.product()
		if w != nil {
			p.B = w.operand()
		} else {
			p.B = packedBytes(t.b, t.b.bytes())
		}
		kernels.ConvolveBytes(win.Window, t.a.bytes(), p)
		return nil
	}, nil
}
