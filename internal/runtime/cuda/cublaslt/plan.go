package cublaslt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/tensor"
)

// shape has all that the choice of an algorithm depends on. a and b are cuBLASLt's: the product's B and A.
type shape struct {
	m, n, k          int // rows and columns of D, stored by columns: the product's N and M
	a, b, d          matrix
	transA, transB   bool
	batch            int
	bias, relu, tf32 bool
	biasAlign        int
	limit            int // bytes of workspace
}

type matrix struct {
	dtype       tensor.DType
	stride, gap int // elements between columns, and between matrices of a batch
	align       int // alignment of its address in bytes, at most 256
}

// shapeOf returns the shape of a product's transpose.
func shapeOf(p lower.Product, limit int) shape {
	s := shape{m: p.N, n: p.M, k: p.K, a: matrixOf(p.B), b: matrixOf(p.A), d: matrixOf(p.Out), transA: p.TransB, transB: p.TransA,
		batch: max(p.Batch, 1), bias: p.Bias != 0, relu: p.Relu, tf32: p.A.Type == tensor.Float32 && p.Precision == lower.TF32, limit: limit}
	if s.bias {
		s.biasAlign = alignment(p.Bias)
	}
	return s
}

// String describes the product itself, not its transpose.
func (s shape) String() string {
	text := fmt.Sprintf("%d x %d x %d x %d, %v to %v", s.batch, s.n, s.m, s.k, s.a.dtype, s.d.dtype)
	for _, f := range []struct {
		on   bool
		text string
	}{{s.transB, ", A transposed"}, {s.transA, ", B transposed"}, {s.bias, ", bias"}, {s.relu, ", relu"}, {s.tf32, ", tf32"}} {
		if f.on {
			text += f.text
		}
	}
	return text
}

func matrixOf(m lower.Matrix) matrix { return matrix{m.Type, m.Stride, m.Step, alignment(m.At)} }

// alignment returns the largest power of two, at most 256, that divides an address.
func alignment(p driver.Ptr) int {
	p |= 256
	return int(p & -p)
}

var types = map[tensor.DType]uintptr{tensor.Float32: typeFloat32, tensor.Float64: typeFloat64, tensor.BFloat16: typeBFloat16}

// plan is a shape with its algorithm.
type plan struct {
	shape
	mu                    sync.Mutex // guards operation's bias pointer
	operation, la, lb, ld handle
	algorithm             algorithm
	workspace             int
	scales                scales
}

// errNoAlgorithm means that the library cannot do a shape.
var errNoAlgorithm = errors.New("cuBLASLt has no algorithm")

// newPlan describes a shape to the library and takes the first algorithm that fits.
func newPlan(c calls, s shape) (*plan, error) {
	p := &plan{shape: s}
	err := p.describe(c)
	if err == nil {
		err = p.choose(c)
	}
	if err != nil {
		return nil, errors.Join(err, p.close(c))
	}
	return p, nil
}

func (p *plan) choose(c calls) (err error) {
	pref, err := c.create(preference)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.destroy(preference, pref)) }()
	for attribute, v := range map[int]int{preferenceReductions: reductionComputeType, preferenceAlignA: p.a.align, preferenceAlignB: p.b.align,
		preferenceAlignC: p.d.align, preferenceAlignD: p.d.align} {
		if err := c.set(preference, pref, attribute, bytes4(v)); err != nil {
			return err
		}
	}
	if err := c.set(preference, pref, preferenceWorkspace, bytes8(uint64(p.limit))); err != nil {
		return err
	}
	found, err := c.heuristic(query{p.operation, p.la, p.lb, p.ld, pref})
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.state == 0 && f.workspace <= uint64(p.limit) {
			p.algorithm, p.workspace = f.algorithm, int(f.workspace)
			return nil
		}
	}
	return errNoAlgorithm
}

// describe makes the operation and the layouts.
func (p *plan) describe(c calls) (err error) {
	compute, scale := uintptr(computeFloat32), uintptr(typeFloat32)
	binary.LittleEndian.PutUint32(p.scales.alpha[:], math.Float32bits(1))
	switch {
	case p.d.dtype == tensor.Float64:
		compute, scale = computeFloat64, typeFloat64
		binary.LittleEndian.PutUint64(p.scales.alpha[:], math.Float64bits(1))
	case p.tf32:
		compute = computeTF32
	}
	if p.operation, err = c.create(operation, compute, scale); err != nil {
		return err
	}
	epilogue := 0
	if p.relu {
		epilogue |= epilogueRelu
	}
	if p.bias {
		epilogue |= epilogueBias
		// The heuristic only looks at the pointer's alignment.
		err = c.set(operation, p.operation, operationBiasPointer, bytes8(uint64(p.biasAlign)))
	}
	if epilogue != 0 {
		err = errors.Join(err, c.set(operation, p.operation, operationEpilogue, bytes4(epilogue)))
	}
	rowsA, colsA, rowsB, colsB := p.m, p.k, p.k, p.n
	if p.transA {
		rowsA, colsA = colsA, rowsA
		err = errors.Join(err, c.set(operation, p.operation, operationTransA, bytes4(transposed)))
	}
	if p.transB {
		rowsB, colsB = colsB, rowsB
		err = errors.Join(err, c.set(operation, p.operation, operationTransB, bytes4(transposed)))
	}
	return errors.Join(err, p.layout(c, &p.la, p.a, rowsA, colsA), p.layout(c, &p.lb, p.b, rowsB, colsB), p.layout(c, &p.ld, p.d, p.m, p.n))
}

// layout describes a matrix stored by columns.
func (p *plan) layout(c calls, to *handle, m matrix, rows, cols int) (err error) {
	if *to, err = c.create(layout, types[m.dtype], uintptr(rows), uintptr(cols), uintptr(m.stride)); err != nil || p.batch == 1 {
		return err
	}
	return errors.Join(c.set(layout, *to, layoutBatchCount, bytes4(p.batch)), c.set(layout, *to, layoutBatchStride, bytes8(uint64(m.gap))))
}

func bytes4(v int) []byte    { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func bytes8(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func (p *plan) close(c calls) error {
	var errs []error
	if p.operation != 0 {
		errs = append(errs, c.destroy(operation, p.operation))
	}
	for _, l := range []handle{p.la, p.lb, p.ld} {
		if l != 0 {
			errs = append(errs, c.destroy(layout, l))
		}
	}
	return errors.Join(errs...)
}

// launch issues the product q, whose shape is the plan's.
func (p *plan) launch(c calls, q lower.Product, stream uintptr) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bias {
		if err := c.set(operation, p.operation, operationBiasPointer, bytes8(uint64(q.Bias))); err != nil {
			return err
		}
	}
	err := c.matmul(request{operation: p.operation, a: p.la, b: p.lb, d: p.ld, atA: uintptr(q.B.At), atB: uintptr(q.A.At), atD: uintptr(q.Out.At),
		scales: &p.scales, algorithm: &p.algorithm, workspace: uintptr(q.Workspace), workspaceBytes: p.workspace, stream: stream})
	if err != nil {
		return fmt.Errorf("product of %d x %d x %d: %w", q.M, q.N, q.K, err)
	}
	return nil
}
