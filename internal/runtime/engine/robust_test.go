package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// mutations are wrong forms of a case that a damaged or foreign graph could contain.
func mutations(c *opCase) []*opCase {
	var all []*opCase
	change := func(f func(m *opCase)) {
		m := *c
		m.in, m.out = slices.Clone(c.in), slices.Clone(c.out)
		f(&m)
		all = append(all, &m)
	}
	change(func(m *opCase) { m.attrs = nil })
	change(func(m *opCase) { m.in = nil })
	change(func(m *opCase) { m.out = nil })
	change(func(m *opCase) { m.out = append(m.out, fl("B,2")) })
	if len(c.in) > 0 {
		change(func(m *opCase) { m.in = m.in[:len(m.in)-1] })
	}
	shapes := []string{"", "3", "B", "B,0", "2,B,2", "B,2,3,4,5", "B,7"}
	for i := range c.in {
		for _, s := range shapes {
			change(func(m *opCase) { m.in[i] = damaged(m.in[i], s) })
		}
		change(func(m *opCase) { m.in[i].typ.DType = tensor.Float64 })
		change(func(m *opCase) { m.in[i].typ.DType = tensor.Bool })
		change(func(m *opCase) { m.in[i].typ.DType = tensor.Uint16 })
		change(func(m *opCase) { m.in[i].variable = !m.in[i].variable && !m.in[i].constant })
	}
	for i := range c.out {
		for _, s := range shapes {
			change(func(m *opCase) { m.out[i].Shape = sh(s) })
		}
		change(func(m *opCase) { m.out[i].DType = tensor.Int64 })
		change(func(m *opCase) { m.out[i].DType = tensor.Float64 })
	}
	return all
}

// damaged gives an operand another shape, and a constant wild numbers.
func damaged(o operand, s string) operand {
	o.typ.Shape = sh(s)
	if o.constant {
		o.values = make([]float64, o.typ.Shape.ElementsAt(0))
		for i := range o.values {
			o.values[i] = float64(7 - 5*i)
		}
	}
	return o
}

// TestWrongGraphsAreErrors compiles and runs damaged forms of every case: an error or a result, never a panic.
func TestWrongGraphsAreErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: many graphs, one after the other")
	}
	dev := device.NewHost()
	for _, c := range allCases() {
		for i, m := range mutations(c) {
			if msg := survive(m, dev); msg != "" {
				t.Errorf("%s, mutation %d (%v -> %v): %s", c.op, i, m.label(), m.out, msg)
			}
		}
	}
}

// survive compiles and runs the case, and returns the message of a panic.
func survive(c *opCase, dev device.Device) (msg string) {
	defer func() {
		if r := recover(); r != nil {
			msg = fmt.Sprint(r)
		}
	}()
	g := graph.New()
	b := graph.NewBuilder(g)
	vars := ok(NewVariables(dev))
	var in, feeds []graph.Output
	var tensors []*tensor.Tensor
	for i, o := range c.in {
		name := fmt.Sprint("in", i)
		value := tensor.New(o.typ.DType, o.typ.Shape.At(2)...)
		switch {
		case o.constant:
			t := fromND(o.typ.DType, nd{o.typ.Shape.At(0), o.values[:tensor.NumElements(o.typ.Shape.At(0))]})
			in = append(in, b.Const(name, t))
		case o.variable:
			typ := graph.Type{DType: o.typ.DType, Shape: graph.ShapeOf(value.Shape...)}
			in = append(in, b.Variable(name, typ))
			if vars.Create(name, value) != nil {
				return ""
			}
		default:
			in = append(in, b.Placeholder(name, o.typ))
			feeds, tensors = append(feeds, in[i]), append(tensors, value)
		}
	}
	n := b.Node(c.op, "op", c.out, c.attrs, in...)
	spec := Spec{Feeds: feeds, Targets: []*graph.Node{n}}
	for i := range c.out {
		spec.Fetches = append(spec.Fetches, n.Out(i))
	}
	p, err := Compile(g, spec, dev, vars, Options{Capacity: 2})
	if err == nil {
		if err = p.Run(bg, 2, tensors); err == nil {
			_ = p.Close()
		}
	}
	if err != nil && strings.Contains(err.Error(), "panic: ") {
		return err.Error()
	}
	return ""
}
