package eager

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// exampleOps parse serialized tf.Examples.
var exampleOps = map[*ops.Def]maker{
	ops.ParseExample:       parseExample,
	ops.ParseExampleV2:     parseExampleV2,
	ops.ParseSingleExample: parseSingleExample,
}

// parser is a parsing op: its columns, and the spec for the names and defaults
// of the last call, which are almost always constants.
type parser struct {
	columns []column
	last    atomic.Pointer[boundSpec]
}

// boundSpec is a spec with the tensors that it was made from.
type boundSpec struct {
	spec *exampleSpec
	from []Value
}

// defaults returns a function that sets the defaults of dense columns, for bind.
func defaults(values []Value) func(d int, c *column) error {
	return func(d int, c *column) error {
		if d >= len(values) {
			return fmt.Errorf("expected a default of each dense feature, got %d", len(values))
		}
		return c.setDefault(values[d].T)
	}
}

// bind returns the spec for the inputs from: names returns a name for each column, and dense completes dense column d.
func (p *parser) bind(from []Value, names func() ([][]byte, error), dense func(d int, c *column) error) (*exampleSpec, error) {
	if b := p.last.Load(); b != nil && slices.Equal(b.from, from) {
		return b.spec, nil
	}
	all, err := names()
	if err != nil {
		return nil, err
	}
	if len(all) != len(p.columns) {
		return nil, fmt.Errorf("expected %d names of features, got %d", len(p.columns), len(all))
	}
	cols := slices.Clone(p.columns)
	d := 0
	for i := range cols {
		cols[i].name = string(all[i])
		if cols[i].kind != denseColumn {
			continue
		}
		if err := dense(d, &cols[i]); err != nil {
			return nil, err
		}
		d++
	}
	spec, err := newExampleSpec(cols)
	if err != nil {
		return nil, err
	}
	p.last.Store(&boundSpec{spec, slices.Clone(from)})
	return spec, nil
}

// outputsOf returns the number of outputs of the columns.
func outputsOf(cols []column) int {
	return 3*countKind(cols, sparseColumn) + countKind(cols, denseColumn) + 2*countKind(cols, raggedColumn)
}

func parseExampleV2(s *site) (kernel, error) {
	p := &parser{columns: columnTypes(s, exampleAttrs)}
	s.outputs = outputsOf(p.columns)
	return func(c call) error {
		if want := 5 + countKind(p.columns, denseColumn); len(c.in) != want {
			return fmt.Errorf("expected %d inputs, got %d", want, len(c.in))
		}
		names := func() ([][]byte, error) {
			var all [][]byte
			for i, kind := range []columnKind{sparseColumn, denseColumn, raggedColumn} {
				t := c.t(2 + i)
				if t.DType != tensor.String || len(t.Strings) != countKind(p.columns, kind) {
					return nil, fmt.Errorf("input %d: expected %d names of features, got %v of shape %v", 2+i, countKind(p.columns, kind), t.DType, t.Shape)
				}
				all = append(all, t.Strings...)
			}
			return all, nil
		}
		spec, err := p.bind(c.in[2:], names, defaults(c.in[5:]))
		if err != nil {
			return err
		}
		return parseAll(c, spec)
	}, nil
}

func parseExample(s *site) (kernel, error) {
	p := &parser{columns: columnTypes(s, exampleAttrs)}
	s.outputs = outputsOf(p.columns)
	return func(c call) error {
		n := len(p.columns)
		if want := 2 + n + countKind(p.columns, denseColumn); len(c.in) != want {
			return fmt.Errorf("expected %d inputs, got %d", want, len(c.in))
		}
		names := func() ([][]byte, error) {
			all := make([][]byte, n)
			for i := range all {
				name, err := text("name of a feature", c.t(2+i))
				if err != nil {
					return nil, err
				}
				all[i] = name
			}
			return all, nil
		}
		spec, err := p.bind(c.in[2:], names, defaults(c.in[2+n:]))
		if err != nil {
			return err
		}
		return parseAll(c, spec)
	}, nil
}

func parseSingleExample(s *site) (kernel, error) {
	p := &parser{columns: columnTypes(s, exampleAttrs)}
	s.outputs = outputsOf(p.columns)
	all := slices.Concat(list[[]byte](s, "sparse_keys"), list[[]byte](s, "dense_keys"))
	return func(c call) error {
		if len(c.in) == 0 {
			return fmt.Errorf("expected an input")
		}
		spec, err := p.bind(c.in[1:], func() ([][]byte, error) { return all, nil }, defaults(c.in[1:]))
		if err != nil {
			return err
		}
		if _, err := text("serialized", c.t(0)); err != nil {
			return err
		}
		return parse(c, &parsing{spec: spec, examples: c.t(0).Strings}, true)
	}, nil
}

// parseAll parses input 0, named by input 1.
func parseAll(c call, spec *exampleSpec) error {
	in := c.t(0)
	if in.DType != tensor.String || len(in.Shape) > 1 {
		return fmt.Errorf("serialized: expected a string vector, got %v of shape %v", in.DType, in.Shape)
	}
	names := c.t(1).Strings
	if len(names) > 0 && len(names) != len(in.Strings) {
		return fmt.Errorf("expected as many names as examples, or none: got %d and %d", len(names), len(in.Strings))
	}
	return parse(c, &parsing{spec: spec, examples: in.Strings, names: names}, len(in.Shape) == 0)
}

// parse makes the outputs: the indices of all sparse columns, their values, their
// shapes, the dense columns, the ragged columns' values, their splits. The outputs of
// a single example have no batch dimension.
func parse(c call, p *parsing, single bool) error {
	part := p.parts()
	if err := c.room(part, max(len(p.spec.columns), 1)*cellSize); err != nil {
		return fmt.Errorf("%d examples of %d features: %w", len(p.examples), len(p.spec.columns), err)
	}
	if part < len(p.examples) {
		return p.inParts(c, part)
	}
	if err := p.scan(c.ctx, 0, part); err != nil {
		return err
	}
	cols := p.spec.columns
	sparse, dense := countKind(cols, sparseColumn), countKind(cols, denseColumn)
	ragged := len(cols) - sparse - dense
	for k := range cols {
		switch cols[k].kind {
		case sparseColumn:
			parts, err := p.sparse(c, k, single)
			if err != nil {
				return err
			}
			for i, t := range parts {
				c.set(k+i*sparse, t)
			}
		case denseColumn:
			t, err := p.dense(c, k)
			if err != nil {
				return err
			}
			if err := p.fill(t, k); err != nil {
				return err
			}
			if single {
				t.Shape = t.Shape[1:]
			}
			c.set(k+2*sparse, t)
		case raggedColumn:
			values, splits, err := p.ragged(c, k, single)
			if err != nil {
				return err
			}
			c.set(k+2*sparse, values)
			c.set(k+2*sparse+ragged, splits)
		}
	}
	return nil
}

// inParts makes the outputs of columns that are all dense and of known size, part examples at a time.
func (p *parsing) inParts(c call, part int) error {
	outs := make([]*tensor.Tensor, len(p.spec.columns))
	for k := range outs {
		t, err := p.dense(c, k)
		if err != nil {
			return err
		}
		outs[k] = t
	}
	for from := 0; from < len(p.examples); from += part {
		if err := p.scan(c.ctx, from, min(from+part, len(p.examples))); err != nil {
			return err
		}
		for k, t := range outs {
			if err := p.fill(t, k); err != nil {
				return err
			}
		}
	}
	for k, t := range outs {
		c.set(k, t)
	}
	return nil
}
