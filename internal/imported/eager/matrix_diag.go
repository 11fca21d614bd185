package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// band is a range of a matrix's diagonals, from lower to upper: 0 is the main one, and the ones above it are positive. A tensor of
// diagonals has a row for each, the uppermost first. A diagonal shorter than the longest is aligned to one side of its row.
type band struct {
	lower, upper         int
	leftAbove, leftBelow bool // shorter diagonals above or below the main one are aligned left, else right
	rows, columns        int
	longest              int
}

// alignments has the values of attribute align. Ops before V3 do not have it.
var alignments = map[string]band{
	"LEFT_LEFT":   {leftAbove: true, leftBelow: true},
	"LEFT_RIGHT":  {leftAbove: true},
	"RIGHT_LEFT":  {leftBelow: true},
	"RIGHT_RIGHT": {},
}

// banded returns the maker of a kernel for the diagonals given by input k, or for the main one if there is no such input.
func banded(k int, align string, f func(c call, b band) error) maker {
	return func(s *site) (kernel, error) {
		b, ok := alignments[s.str("align", align)]
		if !ok {
			return nil, fmt.Errorf("attribute align: expected LEFT_LEFT, LEFT_RIGHT, RIGHT_LEFT or RIGHT_RIGHT, got %q", s.str("align", align))
		}
		return func(c call) error {
			own := b
			if k < len(c.in) {
				if err := own.choose(c.t(k)); err != nil {
					return err
				}
			}
			return f(c, own)
		}, nil
	}
}

// choose reads the range of diagonals: one, or the lowest and the uppermost.
func (b *band) choose(k *tensor.Tensor) error {
	if k.DType != tensor.Int32 || len(k.Shape) > 1 {
		return fmt.Errorf("diag_index must be a scalar or vector of int32, received shape: %v", k.Shape)
	}
	switch v := tensor.Values[int32](k); len(v) {
	case 1, 2:
		b.lower, b.upper = int(v[0]), int(v[len(v)-1])
	default:
		return fmt.Errorf("diag_index must have only one or two elements, received %d elements.", len(v))
	}
	if b.lower > b.upper {
		return fmt.Errorf("lower_diag_index must not be larger than upper_diag_index: %d > %d", b.lower, b.upper)
	}
	return nil
}

// within reads the sizes of the matrices from the last two dimensions of a shape, and checks that they have the diagonals.
func (b *band) within(shape []int) error {
	if len(shape) < 2 {
		return fmt.Errorf("input must be at least 2-dim, received shape: %v", shape)
	}
	b.rows, b.columns = shape[len(shape)-2], shape[len(shape)-1]
	for _, d := range []struct {
		name string
		k    int
	}{{"lower", b.lower}, {"upper", b.upper}} {
		if d.k != 0 && (d.k <= -b.rows || d.k >= b.columns) {
			return fmt.Errorf("%s_diag_index is out of bound: %d. It must be between %d and %d", d.name, d.k, -b.rows, b.columns)
		}
	}
	b.longest = min(b.rows+min(b.upper, 0), b.columns-max(b.lower, 0))
	return nil
}

// shape returns the shape of the diagonals of a batch of matrices.
func (b *band) shape(batch []int) []int {
	if b.lower == b.upper {
		return slices.Concat(batch, []int{b.longest})
	}
	return slices.Concat(batch, []int{b.upper - b.lower + 1, b.longest})
}

// each calls f for all elements of the diagonals of n matrices: at is the index into the diagonals, cell into the matrices.
func (b *band) each(n int, f func(at, cell int)) {
	count := b.upper - b.lower + 1
	for m := range n {
		for row := range count {
			d := b.upper - row
			y, x := max(-d, 0), max(d, 0)
			length := max(min(b.rows-y, b.columns-x), 0)
			at := (m*count + row) * b.longest
			if left := d >= 0 && b.leftAbove || d <= 0 && b.leftBelow; !left {
				at += b.longest - length
			}
			for i := range length {
				f(at+i, (m*b.rows+y+i)*b.columns+x+i)
			}
		}
	}
}

// matricesOf makes matrices from diagonals.
func matricesOf(c call, b band) error {
	t := c.t(0)
	batch, err := b.fit(c)
	if err != nil {
		return err
	}
	out, err := c.output(0, t.DType, slices.Concat(batch, []int{b.rows, b.columns})...)
	if err != nil {
		return err
	}
	if len(c.in) > 4 {
		if err := padCells(out, c.t(4)); err != nil {
			return err
		}
	}
	b.each(product(batch), func(at, cell int) { copyCells(out, cell, t, at, 1) })
	return nil
}

// fit sets the sizes of the matrices from inputs 2 and 3, or, where they are -1, to the smallest possible. It returns the
// dimensions before them.
func (b *band) fit(c call) (batch []int, err error) {
	shape, count := c.t(0).Shape, b.upper-b.lower+1
	last := len(shape) - 1
	if last < 0 || count > 1 && last < 1 {
		return nil, fmt.Errorf("diagonal must be at least %d-dim, received shape: %v", min(count, 2), shape)
	}
	batch = shape[:last]
	if count > 1 {
		if shape[last-1] != count {
			return nil, fmt.Errorf("The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range.")
		}
		batch = shape[:last-1]
	}
	asked := [2]int{-1, -1}
	for i, name := range []string{"num_rows", "num_cols"} {
		if 2+i < len(c.in) {
			if asked[i], err = integer(name, c.t(2+i)); err != nil {
				return nil, err
			}
		}
	}
	b.longest = shape[last]
	least := [2]int{b.longest - min(b.upper, 0), b.longest + max(b.lower, 0)}
	switch {
	case asked[0] != -1 && asked[0] < least[0]:
		return nil, fmt.Errorf("The number of rows is too small.")
	case asked[1] != -1 && asked[1] < least[1]:
		return nil, fmt.Errorf("The number of columns is too small.")
	case asked == [2]int{-1, -1}:
		least[0] = max(least[0], least[1])
		asked = [2]int{least[0], least[0]}
	case asked[0] == -1:
		asked[0] = least[0]
	case asked[1] == -1:
		asked[1] = least[1]
	}
	if asked[0] != least[0] && asked[1] != least[1] {
		return nil, fmt.Errorf("The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.")
	}
	b.rows, b.columns = asked[0], asked[1]
	return batch, nil
}

// padCells fills a tensor with a scalar.
func padCells(out, value *tensor.Tensor) error {
	if value.DType != out.DType || value.Len() != 1 {
		return fmt.Errorf("padding_value: expected one %v, got %v of shape %v", out.DType, value.DType, value.Shape)
	}
	fillCells(out, value, 0)
	return nil
}

// diagonalsOf extracts diagonals of matrices.
func diagonalsOf(c call, b band) error {
	t := c.t(0)
	if err := b.within(t.Shape); err != nil {
		return err
	}
	batch := t.Shape[:len(t.Shape)-2]
	out, err := c.output(0, t.DType, b.shape(batch)...)
	if err != nil {
		return err
	}
	if len(c.in) > 2 {
		if err := padCells(out, c.t(2)); err != nil {
			return err
		}
	}
	b.each(product(batch), func(at, cell int) { copyCells(out, at, t, cell, 1) })
	return nil
}

// setDiagonals replaces diagonals of matrices.
func setDiagonals(c call, b band) error {
	t, diagonals := c.t(0), c.t(1)
	if err := b.within(t.Shape); err != nil {
		return err
	}
	batch := t.Shape[:len(t.Shape)-2]
	if want := b.shape(batch); diagonals.DType != t.DType || !slices.Equal(diagonals.Shape, want) {
		return fmt.Errorf("diagonal: expected %v of shape %v for input of shape %v, got %v of shape %v", t.DType, want, t.Shape, diagonals.DType, diagonals.Shape)
	}
	out, err := c.output(0, t.DType, t.Shape...)
	if err != nil {
		return err
	}
	copyCells(out, 0, t, 0, t.Len())
	b.each(product(batch), func(at, cell int) { copyCells(out, cell, diagonals, at, 1) })
	return nil
}
