package eager

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"github.com/goestimator/goestimator/internal/format/tfexample"
	"github.com/goestimator/goestimator/tensor"
)

// cell is one feature of one example, found but not yet decoded.
type cell struct {
	data  []byte
	count int
	found bool
}

const cellSize = int(unsafe.Sizeof(cell{}))

// parsing is a batch of examples that is being converted to tensors.
type parsing struct {
	spec     *exampleSpec
	examples [][]byte
	names    [][]byte // names of the examples, for error messages; empty: none
	from, to int      // the range of examples in cells
	cells    []cell   // column by column
}

// partSize is the number of examples found at a time if their values can be decoded at once.
const partSize = 1024

// parts is the number of examples found at a time: all of them if their values determine the sizes of outputs.
func (p *parsing) parts() int {
	for _, col := range p.spec.columns {
		if col.kind != denseColumn || col.variable {
			return len(p.examples)
		}
	}
	return min(partSize, len(p.examples))
}

// clip limits the input in an error message.
func clip(b []byte) []byte {
	if len(b) > 1024 {
		return append(b[:1024:1024], "..."...)
	}
	return b
}

func (p *parsing) name(i int) string {
	if i < len(p.names) {
		return string(p.names[i])
	}
	return "<unknown>"
}

func (p *parsing) keyError(col *column, i int, format string, args ...any) error {
	return fmt.Errorf("Name: %s, Key: %s, Index: %d.  %s", p.name(i), col.name, i, fmt.Sprintf(format, args...))
}

// scan finds the features of examples.
func (p *parsing) scan(ctx context.Context, from, to int) error {
	n := len(p.spec.columns) * (to - from)
	p.from, p.to, p.cells = from, to, slices.Grow(p.cells[:0], n)[:n]
	clear(p.cells)
	i, bad := from, error(nil)
	find := func(name, feature []byte) bool { // one function for all examples
		if k, known := p.spec.byName[string(name)]; known {
			bad = p.find(ctx, k, i, feature)
		}
		return bad == nil
	}
	for ; i < to; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ok := tfexample.EachFeature(ctx, p.examples[i], find)
		if err := ctx.Err(); (bad != nil || !ok) && err != nil {
			return err
		}
		if bad != nil {
			return bad
		}
		if !ok {
			return fmt.Errorf("Could not parse example input, value: '%s'", clip(p.examples[i]))
		}
	}
	return nil
}

// find notes where the values of column k in example i are.
func (p *parsing) find(ctx context.Context, k, i int, feature []byte) error {
	col, at := &p.spec.columns[k], &p.of(k)[i-p.from]
	kind, data, ok := tfexample.List(ctx, feature)
	if !ok {
		return p.keyError(col, i, "Can't parse serialized Example.")
	}
	if kind == tfexample.None { // treated as missing
		*at = cell{}
		return nil
	}
	if kind != col.list && col.kind != denseColumn {
		return p.keyError(col, i, "Data types don't match. Expected type: %v, Actual type: %v", col.list, kind)
	}
	if kind != col.list {
		return p.keyError(col, i, "Data types don't match. Data type: %v but expected type: %v", kind, col.list)
	}
	n := tfexample.Count(ctx, kind, data)
	if n < 0 {
		return p.keyError(col, i, "Can't parse serialized Example.")
	}
	*at = cell{data, n, true}
	return nil
}

// of returns the cells of column k.
func (p *parsing) of(k int) []cell { return p.cells[k*(p.to-p.from) : (k+1)*(p.to-p.from)] }

// read fills elements [at, at+count) of t.
func (c *cell) read(t *tensor.Tensor, at int) {
	switch t.DType {
	case tensor.String:
		tfexample.ReadBytes(t.Strings[at:at+c.count], c.data)
	case tensor.Float32:
		tfexample.ReadFloats(tensor.Values[float32](t)[at:at+c.count], c.data)
	case tensor.Int64:
		tfexample.ReadInts(tensor.Values[int64](t)[at:at+c.count], c.data)
	}
}

// values reads all values of a column, one example after the other.
func (p *parsing) values(c call, k int) (*tensor.Tensor, error) {
	total := 0
	for _, x := range p.of(k) {
		total += x.count
	}
	t, err := c.alloc(p.spec.columns[k].dtype, total)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, x := range p.of(k) {
		if x.count > 0 {
			x.read(t, at)
			at += x.count
		}
	}
	return t, nil
}

// sparse returns column k as the parts of a sparse tensor: indices [n,2] ([n,1] for a
// single example), values and shape.
func (p *parsing) sparse(c call, k int, single bool) (parts [3]*tensor.Tensor, err error) {
	if parts[1], err = p.values(c, k); err != nil {
		return parts, err
	}
	n, most := parts[1].Len(), 0
	if single {
		if parts[0], err = c.alloc(tensor.Int64, n, 1); err != nil {
			return parts, err
		}
		for j := range n {
			tensor.Values[int64](parts[0])[j] = int64(j)
		}
		parts[2], err = tensor.FromSlice([]int64{int64(n)}, 1)
		return parts, err
	}
	if parts[0], err = c.alloc(tensor.Int64, n, 2); err != nil {
		return parts, err
	}
	index := tensor.Values[int64](parts[0])
	for i, x := range p.of(k) {
		most = max(most, x.count)
		for j := range x.count {
			index[2*j], index[2*j+1] = int64(i), int64(j)
		}
		index = index[2*x.count:]
	}
	parts[2], err = tensor.FromSlice([]int64{int64(len(p.examples)), int64(most)}, 2)
	return parts, err
}

// ragged returns column k as values and row splits; a single example has no splits.
func (p *parsing) ragged(c call, k int, single bool) (values, splits *tensor.Tensor, err error) {
	if values, err = p.values(c, k); err != nil {
		return nil, nil, err
	}
	if single {
		return values, tensor.New(p.spec.columns[k].splits, 0), nil
	}
	at := make([]int, len(p.examples)+1)
	for i, x := range p.of(k) {
		at[i+1] = at[i] + x.count
	}
	if splits, err = c.alloc(p.spec.columns[k].splits, len(at)); err != nil {
		return nil, nil, err
	}
	return values, splits, setInts(splits, at)
}

// dense allocates the tensor of column k, [examples, shape...], for fill to fill.
func (p *parsing) dense(c call, k int) (*tensor.Tensor, error) {
	col := &p.spec.columns[k]
	if !col.variable {
		return c.alloc(col.dtype, append([]int{len(p.examples)}, col.shape...)...)
	}
	steps, err := p.steps(k)
	if err != nil {
		return nil, err
	}
	return c.alloc(col.dtype, append([]int{len(p.examples), steps}, col.shape...)...)
}

// fill writes the cells of column k to its tensor.
func (p *parsing) fill(t *tensor.Tensor, k int) error {
	col := &p.spec.columns[k]
	row := col.stride
	if col.variable {
		row *= t.Shape[1]
		fillCells(t, col.fallback, 0)
	}
	for j, x := range p.of(k) {
		i := p.from + j
		switch {
		case col.variable:
			x.read(t, i*row)
		case !x.found && col.fallback.Len() == 0:
			return fmt.Errorf("Name: %s, Feature: %s (data type: %v) is required but could not be found.", p.name(i), col.name, col.list)
		case !x.found:
			copyCells(t, i*row, col.fallback, 0, row)
		case x.count != row:
			return p.keyError(col, i, "Number of %v values != expected.  Values size: %d but output shape: %s", col.list, x.count, col.shapeText())
		default:
			x.read(t, i*row)
		}
	}
	return nil
}

// steps returns the largest length of a variable column, in steps of its stride.
func (p *parsing) steps(k int) (int, error) {
	col, most := &p.spec.columns[k], 0
	for i, x := range p.of(k) {
		if x.count%col.stride != 0 {
			return 0, p.keyError(col, i, "Number of %v values is not a multiple of stride length. Saw %d values but output shape is: %s", col.list, x.count, col.shapeText())
		}
		most = max(most, x.count/col.stride)
	}
	return most, nil
}
