package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// matmulOps are products of matrices.
var matmulOps = map[*ops.Def]lowering{ops.MatMul: lowerMatMul, ops.FusedMatMul: lowerMatMul, ops.BatchMatMulV2: lowerMatMul}

// matmul is one product for each matrix of the result. The operands' leading dimensions broadcast to the result's.
type matmul struct {
	t              *Target
	o              *engine.Operation
	transA, transB bool
	bias           *engine.Operand
	relu           bool
}

func lowerMatMul(t *Target, o *engine.Operation) (Step, error) {
	if err := need(o, 2, 1); err != nil {
		return nil, err
	}
	m := &matmul{t: t, o: o, transA: o.Node.Bool("transpose_a"), transB: o.Node.Bool("transpose_b")}
	batched := o.Node.Op == "BatchMatMulV2"
	if batched {
		m.transA, m.transB = o.Node.Bool("adj_x"), o.Node.Bool("adj_y")
	}
	a, b, out := o.In[0], o.In[1], o.Out[0]
	for _, v := range []*engine.Operand{a, b, out} {
		if r := v.Type.Shape.Rank(); r < 2 || r > 2 && !batched {
			return nil, fmt.Errorf("expected matrices, got shape %v", v.Type.Shape)
		}
	}
	if err := m.readEpilogue(); err != nil {
		return nil, err
	}
	p := m.product([]int{0, 0}, []int{0, 0})
	if m.bias != nil {
		p.Bias, p.BiasType = 1, m.bias.Type.DType
	}
	return m, p.Check()
}

// readEpilogue reads the attribute fused_ops.
func (m *matmul) readEpilogue() error {
	fused, _ := m.o.Node.Attrs["fused_ops"].([][]byte)
	for _, part := range fused {
		switch name := string(part); {
		case name == "BiasAdd" && m.bias == nil && !m.relu && len(m.o.In) == 3:
			m.bias = m.o.In[2]
			d := m.o.Out[0].Type.Shape.Dims
			if s := m.bias.Type.Shape; s.Rank() != 1 || s.Dims[0] != d[len(d)-1] {
				return fmt.Errorf("expected a bias for the last dimension of %v, got %v", m.o.Out[0].Type.Shape, s)
			}
		case name == "Relu" && !m.relu:
			m.relu = true
		default:
			return fmt.Errorf("fused_ops %q: expected BiasAdd, Relu, or both", fused)
		}
	}
	return nil
}

// product returns a product of matrices a and b without addresses.
func (m *matmul) product(a, b []int) Product {
	p := Product{M: a[0], K: a[1], N: b[1], TransA: m.transA, TransB: m.transB, Batch: 1, Relu: m.relu, Precision: m.t.Precision}
	p.A, p.B = Matrix{Type: m.o.In[0].Type.DType, Stride: a[1]}, Matrix{Type: m.o.In[1].Type.DType, Stride: b[1]}
	if m.transA {
		p.M, p.K = p.K, p.M
	}
	if m.transB {
		p.N = b[0]
	}
	p.Out = Matrix{Type: m.o.Out[0].Type.DType, Stride: p.N}
	return p
}

// products returns the products for a result of the given dimensions. Addresses are offsets in bytes.
func (m *matmul) products(a, b, out []int) ([]Product, error) {
	ra, rb, ro := len(a)-2, len(b)-2, len(out)-2
	p := m.product(a[ra:], b[rb:])
	kb := pick(m.transB, b[rb+1], b[rb])
	if kb != p.K || out[ro] != p.M || out[ro+1] != p.N {
		return nil, fmt.Errorf("matrices %v and %v (transposed: %v, %v) do not give %v", a, b, m.transA, m.transB, out)
	}
	runs, err := broadcast(a[:ra], b[:rb], out[:ro])
	if err != nil || tensor.NumElements(out) == 0 {
		return nil, err
	}
	inner := runs[0]
	if inner.b == 0 && len(runs) == 1 && !m.transA {
		p.M *= inner.n // the rows of all of a's matrices are consecutive
	} else {
		p.Batch = inner.n
		p.A.Step, p.B.Step, p.Out.Step = inner.a*p.M*p.K, inner.b*p.K*p.N, p.M*p.N
	}
	var all []Product
	outer := tensor.NumElements(out) / (inner.n * out[ro] * p.N)
	for i := range outer {
		q, at := p, i
		for _, r := range runs[1:] {
			q.A.At += driver.Ptr(at % r.n * r.a * p.M * p.K * p.A.Type.Size())
			q.B.At += driver.Ptr(at % r.n * r.b * p.K * p.N * p.B.Type.Size())
			at /= r.n
		}
		q.Out.At = driver.Ptr(i * inner.n * p.M * p.N * p.Out.Type.Size())
		all = append(all, q)
	}
	return all, nil
}

// run is neighbouring dimensions in which both operands behave alike: n matrices. a and b are the distances to the next
// matrix of an operand, in matrices, or 0 if the same one is reused.
type run struct{ n, a, b int }

// broadcast finds the runs, at least one, from the last dimension to the first.
func broadcast(a, b, out []int) ([]run, error) {
	var runs []run
	stepA, stepB := 1, 1
	for i := range out {
		n, da, db := out[len(out)-1-i], fromEnd(a, i), fromEnd(b, i)
		if da != n && da != 1 || db != n && db != 1 || da != n && db != n {
			return nil, fmt.Errorf("dimensions %v and %v do not broadcast to %v", a, b, out)
		}
		if n == 1 {
			continue
		}
		r := run{n, stepA, stepB}
		if da == 1 {
			r.a = 0
		}
		if db == 1 {
			r.b = 0
		}
		stepA, stepB = stepA*da, stepB*db
		if k := len(runs) - 1; k >= 0 && (runs[k].a == 0) == (r.a == 0) && (runs[k].b == 0) == (r.b == 0) {
			runs[k].n *= n
		} else {
			runs = append(runs, r)
		}
	}
	if len(a) > len(out) || len(b) > len(out) {
		return nil, fmt.Errorf("dimensions %v and %v do not broadcast to %v", a, b, out)
	}
	if len(runs) == 0 {
		runs = []run{{1, 1, 1}}
	}
	return runs, nil
}

func fromEnd(dims []int, i int) int {
	if i >= len(dims) {
		return 1
	}
	return dims[len(dims)-1-i]
}

// Workspace implements Step.
func (m *matmul) Workspace(batch int) int {
	all, err := m.products(m.o.In[0].Type.Shape.At(batch), m.o.In[1].Type.Shape.At(batch), m.o.Out[0].Type.Shape.At(batch))
	if err != nil {
		return 0 // Bind returns the error
	}
	most := 0
	for _, p := range all {
		most = max(most, m.t.products().Workspace(m.withBias(p)))
	}
	return most
}

// withBias adds the bias to a product.
func (m *matmul) withBias(p Product) Product {
	if m.bias != nil {
		p.Bias, p.BiasType = max(Address(m.bias), 256), m.bias.Type.DType // before it has an address: any aligned one
	}
	return p
}

// Bind implements Step.
func (m *matmul) Bind() ([]Launch, error) {
	a, b, out := m.o.In[0], m.o.In[1], m.o.Out[0]
	all, err := m.products(a.Dims, b.Dims, out.Dims)
	if err != nil {
		return nil, err
	}
	var launches []Launch
	for _, p := range all {
		p = m.withBias(p)
		p.A.At, p.B.At, p.Out.At = p.A.At+Address(a), p.B.At+Address(b), p.Out.At+Address(out)
		p.Workspace, p.WorkspaceBytes = Address(&m.o.Workspace), m.o.Workspace.N
		l, err := m.t.products().Plan(p)
		if err != nil {
			return nil, err
		}
		launches = append(launches, l)
	}
	return launches, nil
}

// products returns the target's Products, or own kernels.
func (t *Target) products() Products {
	if t.Products == nil {
		return OwnProducts(t.Kernels)
	}
	return t.Products
}
