package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/tensor"
)

// The number of elements of a value, and of bytes of a string, that are printed.
const (
	shownElements = 8
	shownBytes    = 64
)

func (a *app) inspectData(ctx context.Context, cfg *config.Config, f dataFlags) error {
	if f.request && cfg.Model.Name == languageModel {
		return usage(errors.New("--request: a language model is asked for texts, by a prompt, not for rows: docs/serving.md, models that write texts, has a request"))
	}
	j := &job{app: a, cfg: cfg}
	var s section
	for _, c := range j.sections() {
		if c.name == f.section {
			s = c
		}
	}
	if s.name == "" {
		return usage(fmt.Errorf("--section %s: expected train, eval or predict", f.section))
	}
	input, err := j.input(s.in, s.name)
	if err != nil {
		return err
	}
	ds, err := input.Input(ctx, inputs.Context{Mode: s.mode, NumPipelines: 1, ReplicasInSync: 1, Seed: cfg.Seed})
	if err != nil {
		return err
	}
	if f.request {
		return a.printRequest(ctx, cfg, ds, f.rows)
	}
	if f.format == "text" && f.out == "" {
		if _, err := fmt.Fprint(a.stdout, columnTable(ds.Schema())); err != nil {
			return err
		}
		if err := eachRow(ctx, ds, f.rows, a.printRow); err != nil || !f.statistics {
			return err
		}
		fmt.Fprintln(a.stdout)
	}
	p, err := j.profileOf(ctx, s, f)
	if p == nil {
		return err
	}
	return a.writeDescription(p, err, f)
}

func columnTable(schema *inputs.Schema) *textTable {
	t := newTextTable("column", "role", "type", "shape of one example")
	for _, c := range schema.Columns() {
		role := c.Role
		if role == "" {
			role = inputs.Feature
		}
		shape := shapeText(c.Shape)
		if c.Ragged {
			shape = "ragged"
		}
		t.add(c.Name, string(role), c.DType.String(), shape)
	}
	return t
}

// row is row i of a record, and row n of all records.
type row struct {
	n, i    int
	columns []inputs.NamedTensor
}

// value returns the shape of the row's value of a column, and its first element in the tensor.
func (r row) value(c inputs.NamedTensor) (shape []int, first int) {
	if c.Offsets != nil {
		return []int{int(c.Offsets[r.i+1] - c.Offsets[r.i])}, int(c.Offsets[r.i])
	}
	shape = c.Tensor.Shape[1:]
	return shape, r.i * int(elements(shape))
}

// eachRow calls a function for the first rows of a data set.
func eachRow(ctx context.Context, ds inputs.Dataset, rows int, do func(row) error) (err error) {
	it, err := ds.Iterate(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for n := 0; n < rows; {
		rec, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return inputs.ErrEmpty
			}
			return nil
		}
		if err != nil {
			return err
		}
		columns, err := inputs.Tensors(rec, ds.Schema())
		for i := 0; err == nil && i < int(rec.NumRows()) && n < rows; i++ {
			err = do(row{n, i, columns})
			n++
		}
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printRow(r row) error {
	var parts []string
	for _, c := range r.columns {
		shape, first := r.value(c)
		text, err := valueText(c.Tensor, shape, first)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		parts = append(parts, printable.Text(c.Name+"="+text))
	}
	_, err := fmt.Fprintf(a.stdout, "row %d: %s\n", r.n, strings.Join(parts, " "))
	return err
}

// valueText prints the value with this shape that starts at element first of a tensor, or
// summarizes a large one.
func valueText(t *tensor.Tensor, shape []int, first int) (string, error) {
	n := int(elements(shape))
	if t.DType == tensor.String {
		return stringsText(t.Strings[first:first+n], len(shape) == 0), nil
	}
	if n <= shownElements || t.DType == tensor.Bool {
		b, err := appendTensor(nil, t, shape, first)
		return string(b), err
	}
	least, most, sum := t.Float(first), t.Float(first), 0.0
	for i := first; i < first+n; i++ {
		x := t.Float(i)
		least, most, sum = min(least, x), max(most, x), sum+x
	}
	return fmt.Sprintf("%s(min %.4g max %.4g mean %.4g)", shapeText(shape), least, most, sum/float64(n)), nil
}

// stringsText prints the first of the strings, and the start of long ones.
func stringsText(list [][]byte, scalar bool) string {
	var parts []string
	for _, s := range list[:min(len(list), shownElements)] {
		text := appendText(nil, string(s[:min(len(s), shownBytes)]))
		if len(s) > shownBytes {
			text = fmt.Appendf(text, "(%d bytes)", len(s))
		}
		parts = append(parts, string(text))
	}
	if scalar {
		return parts[0]
	}
	if len(list) > shownElements {
		parts = append(parts, fmt.Sprintf("and %d more", len(list)-shownElements))
	}
	return "[" + strings.Join(parts, ",") + "]"
}
