package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// stateOps read and assign variables.
var stateOps = map[*ops.Def]opDef{
	ops.VarHandleOp:         {},
	ops.Guard:               {compile: compileGuard},
	ops.ReadVariableOp:      {compile: compileRead},
	ops.AssignVariableOp:    {compile: compileAssign},
	ops.AssignAddVariableOp: {compile: byElement(assignBy[float32](kernels.Add), assignBy[float64](kernels.Add), assignIntsBy(add[int32]), assignIntsBy(add[int64]))},
	ops.AssignSubVariableOp: {compile: byElement(assignBy[float32](kernels.Sub), assignBy[float64](kernels.Sub), assignIntsBy(sub[int32]), assignIntsBy(sub[int64]))},
	ops.ResourceScatterAdd:  {compile: byElement(scatterBy[float32](kernels.Add), scatterBy[float64](kernels.Add), scatterIntsBy(add[int32]), scatterIntsBy(add[int64]))},
	ops.ResourceScatterSub:  {compile: byElement(scatterBy[float32](kernels.Sub), scatterBy[float64](kernels.Sub), scatterIntsBy(sub[int32]), scatterIntsBy(sub[int64]))},
}

// byElement chooses a compile function by the element type of the first variable that an op writes.
func byElement(f32, f64, i32, i64 compileFunc) compileFunc {
	forms := map[tensor.DType]compileFunc{tensor.Float32: f32, tensor.Float64: f64, tensor.Int32: i32, tensor.Int64: i64}
	return func(c *binding) (runFunc, error) {
		if len(c.op.write) == 0 {
			return nil, fmt.Errorf("expected a variable as input 0")
		}
		f := forms[c.op.write[0].dtype]
		if f == nil {
			return nil, fmt.Errorf("variables of type %v are not supported", c.op.write[0].dtype)
		}
		return f(c)
	}
}

// elements returns a variable's elements.
func elements[T tensor.Element](v *variable) []T {
	all := value{mem: v.memory(), elem: v.elem, n: v.n}
	return view[T](&all)
}

// compileRead copies the variable. A read that shares the variable's storage has no step.
func compileRead(c *binding) (runFunc, error) {
	if c.op.reads == nil {
		return nil, fmt.Errorf("expected a variable as input 0")
	}
	v, out := c.op.reads, c.out[0] // connectVariables compared their types
	return func() error { copy(out.bytes(), v.memory()); return nil }, nil
}

// operand returns input i after checking that it has the type and shape of variable v.
func (c *binding) operand(i int, v *variable) (*value, error) {
	if err := c.need(i+1, 0); err != nil {
		return nil, err
	}
	if t := c.in[i].typ; t.DType != v.dtype || !t.Shape.Equal(graph.ShapeOf(v.shape...)) {
		return nil, fmt.Errorf("input %d: expected %v %v as the variable has, got %v %v", i, v.dtype, v.shape, t.DType, t.Shape)
	}
	return c.in[i], nil
}

func compileAssign(c *binding) (runFunc, error) {
	if len(c.op.write) == 0 {
		return nil, fmt.Errorf("expected a variable as input 0")
	}
	v := c.op.write[0]
	x, err := c.operand(1, v)
	return func() error { copy(v.memory(), x.bytes()); return nil }, err
}

func assignBy[T kernels.Float](op kernels.BinaryOp) compileFunc {
	return func(c *binding) (runFunc, error) {
		v := c.op.write[0]
		x, err := c.operand(1, v)
		return func() error {
			w := elements[T](v)
			kernels.Binary(op, w, w, view[T](x))
			return nil
		}, err
	}
}

func assignIntsBy[T integer](f func(a, b T) T) compileFunc {
	return func(c *binding) (runFunc, error) {
		v := c.op.write[0]
		x, err := c.operand(1, v)
		return func() error {
			w := elements[T](v)
			for i, e := range view[T](x) {
				w[i] = f(w[i], e)
			}
			return nil
		}, err
	}
}

// scatterBy folds the rows of input 2 into the rows of the variable that input 1 names, in order; op is Add or Sub.
func scatterBy[T kernels.Float](op kernels.BinaryOp) compileFunc {
	return func(c *binding) (runFunc, error) {
		v := c.op.write[0]
		rows, err := c.rowUpdate(v, 1, 2)
		if err != nil {
			return nil, err
		}
		return func() error {
			if err := rows.ids.below(rows.size); err != nil || rows.ids.v.n == 0 {
				return err
			}
			w, g, n := elements[T](v), view[T](rows.values), rows.values.n/rows.ids.v.n
			if rows.ids.v.typ.DType == tensor.Int32 {
				kernels.ScatterRows(op, w, g, view[int32](rows.ids.v), n)
			} else {
				kernels.ScatterRows(op, w, g, view[int64](rows.ids.v), n)
			}
			return nil
		}, nil
	}
}

func scatterIntsBy[T integer](f func(a, b T) T) compileFunc {
	return func(c *binding) (runFunc, error) {
		rows, err := c.rowUpdate(c.op.write[0], 1, 2)
		if err != nil {
			return nil, err
		}
		v := c.op.write[0]
		return func() error {
			w, g := elements[T](v), view[T](rows.values)
			return rows.each(func(at, row, n int) {
				for i, e := range g[row*n : (row+1)*n] {
					w[at*n+i] = f(w[at*n+i], e)
				}
			})
		}, nil
	}
}
