package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/tfexample"
	"github.com/goestimator/goestimator/tensor"
)

// stepParsing converts the feature lists of a batch of sequence examples to tensors: each step of a list is a feature.
type stepParsing struct {
	parsing
	single  bool // the outputs have no batch dimension
	lengths bool // the op outputs the lengths of dense lists
	lists   []featureList
}

// featureList is one feature list of one example: its steps are cells [from, to) of its column.
type featureList struct {
	data     []byte
	found    bool
	from, to int
}

const featureListSize = 48

// parse sets the outputs from output `at` on.
func (p *stepParsing) parse(c call, at int) error {
	cols := p.spec.columns
	if err := c.room(len(p.examples), max(len(cols), 1)*featureListSize); err != nil {
		return fmt.Errorf("%d examples of %d feature lists: %w", len(p.examples), len(cols), err)
	}
	if err := p.scan(c); err != nil {
		return err
	}
	sparse, dense := countKind(cols, sparseColumn), countKind(cols, denseColumn)
	ragged := len(cols) - sparse - dense
	firstRagged := at + 3*sparse + dense
	if p.lengths {
		firstRagged += dense
	}
	for k := range cols {
		cells, err := p.column(c, k)
		if err != nil {
			return err
		}
		switch cols[k].kind {
		case sparseColumn:
			err = p.sparse(c, k, cells, [3]int{at + k, at + sparse + k, at + 2*sparse + k})
		case denseColumn:
			err = p.dense(c, k, cells, [2]int{at + 2*sparse + k, at + 2*sparse + dense + k})
		case raggedColumn:
			r := firstRagged + k - sparse - dense
			err = p.ragged(c, k, cells, [3]int{r, r + ragged, r + 2*ragged})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scan finds the feature lists of all examples.
func (p *stepParsing) scan(c call) error {
	p.lists = make([]featureList, len(p.spec.columns)*len(p.examples))
	for i, e := range p.examples {
		ok := tfexample.EachFeatureList(c.ctx, e, func(name, data []byte) bool {
			if k, known := p.spec.byName[string(name)]; known {
				p.lists[k*len(p.examples)+i] = featureList{data: data, found: true}
			}
			return true
		})
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("Could not parse sequence example, value: '%s'", clip(e))
		}
	}
	return nil
}

// listsOf returns the lists of column k.
func (p *stepParsing) listsOf(k int) []featureList {
	return p.lists[k*len(p.examples) : (k+1)*len(p.examples)]
}

// column finds the steps of all lists of column k.
func (p *stepParsing) column(c call, k int) ([]cell, error) {
	col, n := &p.spec.columns[k], 0
	for i, l := range p.listsOf(k) {
		if !l.found && col.kind == denseColumn && !col.optional {
			return nil, fmt.Errorf("Name: %s, Feature list '%s' is required but could not be found.  Did you mean to include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?", p.name(i), col.name)
		}
		if !tfexample.EachStep(c.ctx, l.data, func([]byte) bool { n++; return true }) {
			return nil, p.keyError(col, i, "Can't parse serialized sequence example.")
		}
	}
	if err := c.room(n, cellSize); err != nil {
		return nil, fmt.Errorf("%d steps of feature list %q: %w", n, col.name, err)
	}
	cells := make([]cell, 0, n)
	for i := range p.listsOf(k) {
		l := &p.listsOf(k)[i]
		l.from = len(cells)
		var bad error
		tfexample.EachStep(c.ctx, l.data, func(feature []byte) bool {
			var x cell
			x, bad = p.step(c, col, i, feature)
			cells = append(cells, x)
			return bad == nil
		})
		if bad != nil {
			return nil, bad
		}
		l.to = len(cells)
	}
	return cells, c.ctx.Err()
}

// step finds the values of a step.
func (p *stepParsing) step(c call, col *column, i int, feature []byte) (cell, error) {
	kind, data, ok := tfexample.List(c.ctx, feature)
	if !ok {
		return cell{}, p.keyError(col, i, "Can't parse serialized sequence example.")
	}
	if kind == tfexample.None {
		kind = col.list
	}
	if kind != col.list {
		return cell{}, p.keyError(col, i, "Data types don't match. Expected type: %v, Actual type: %v", col.list, kind)
	}
	n := tfexample.Count(c.ctx, kind, data)
	if n < 0 {
		return cell{}, p.keyError(col, i, "Can't parse serialized sequence example.")
	}
	if col.kind == denseColumn && n != col.stride {
		return cell{}, p.keyError(col, i, "Number of %v values != expected.  values size: %d but output shape: %s", col.list, n, col.shapeText())
	}
	return cell{data, n, true}, nil
}

// values concatenates the values of all steps.
func (p *stepParsing) values(c call, k int, cells []cell) (*tensor.Tensor, error) {
	total := 0
	for _, x := range cells {
		total += x.count
	}
	t, err := c.alloc(p.spec.columns[k].dtype, total)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, x := range cells {
		x.read(t, at)
		at += x.count
	}
	return t, nil
}

// sparse sets the outputs of a sparse column: indices [example, step, position in the step], values and shape.
func (p *stepParsing) sparse(c call, k int, cells []cell, out [3]int) error {
	values, err := p.values(c, k, cells)
	if err != nil {
		return err
	}
	c.set(out[1], values)
	rank := 3
	if p.single {
		rank = 2
	}
	indices, err := outputOf[int64](c, out[0], values.Len(), rank)
	if err != nil {
		return err
	}
	steps, most := 0, 0
	for i, l := range p.listsOf(k) {
		steps = max(steps, l.to-l.from)
		for s, x := range cells[l.from:l.to] {
			most = max(most, x.count)
			for j := range x.count {
				full := [3]int64{int64(i), int64(s), int64(j)}
				copy(indices, full[3-rank:])
				indices = indices[rank:]
			}
		}
	}
	shape := [3]int{len(p.examples), steps, most}
	return c.outputInts(out[2], tensor.Int64, shape[3-rank:], rank)
}

// dense sets the outputs of a dense column: values, padded with zeros after short lists, and the number of steps in each list.
func (p *stepParsing) dense(c call, k int, cells []cell, out [2]int) error {
	col, steps := &p.spec.columns[k], 0
	lengths := make([]int, len(p.examples))
	for i, l := range p.listsOf(k) {
		lengths[i] = l.to - l.from
		steps = max(steps, lengths[i])
	}
	shape := append([]int{len(p.examples), steps}, col.shape...)
	if p.single {
		shape = shape[1:]
	}
	t, err := c.output(out[0], col.dtype, shape...)
	if err != nil {
		return err
	}
	for i, l := range p.listsOf(k) {
		for s, x := range cells[l.from:l.to] {
			x.read(t, (i*steps+s)*col.stride)
		}
	}
	switch {
	case !p.lengths:
		return nil
	case p.single:
		return c.scalarInt(out[1], tensor.Int64, lengths[0])
	}
	return c.outputInts(out[1], tensor.Int64, lengths, len(lengths))
}

// ragged sets the outputs of a ragged column: values, splits of the examples into steps, and splits of the steps into values.
func (p *stepParsing) ragged(c call, k int, cells []cell, out [3]int) error {
	values, err := p.values(c, k, cells)
	if err != nil {
		return err
	}
	c.set(out[0], values)
	if err := c.room(len(cells)+1, 8); err != nil {
		return err
	}
	outer, inner := make([]int, len(p.examples)+1), make([]int, len(cells)+1)
	for i, l := range p.listsOf(k) {
		outer[i+1] = l.to
	}
	for s, x := range cells {
		inner[s+1] = inner[s] + x.count
	}
	d := p.spec.columns[k].splits
	if p.single {
		outer = nil
	}
	if err := c.outputInts(out[1], d, outer, len(outer)); err != nil {
		return err
	}
	return c.outputInts(out[2], d, inner, len(inner))
}
