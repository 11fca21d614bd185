package feature

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// OutputMode is the form in which a layer delivers categories.
type OutputMode string

// The output modes. "" means Int; in CategoryEncoding, MultiHot.
const (
	Int      OutputMode = "int"       // ids, in the shape of the input
	OneHot   OutputMode = "one_hot"   // a vector for each value, with 1 at its id
	MultiHot OutputMode = "multi_hot" // a vector for each example, with 1 at each of its ids
	Count    OutputMode = "count"     // a vector for each example, with the count of each id
)

// output returns the column that ids of c become.
func (m OutputMode) output(c inputs.Column, depth int) (inputs.Column, error) {
	c.DType = tensor.Int64
	switch m {
	case "", Int:
		return c, nil
	case OneHot:
		c.DType = tensor.Float32
		switch {
		case c.Ragged:
			return c, fmt.Errorf("one_hot takes no ragged column: use multi_hot or count")
		case len(c.Shape) == 1 && c.Shape[0] == 1:
			c.Shape = nil
		case len(c.Shape) > 1:
			return c, fmt.Errorf("one_hot takes one value or a vector of each example, got shape %v", c.Shape)
		}
		c.Shape = append(append([]int(nil), c.Shape...), depth)
		return c, nil
	case MultiHot, Count:
		c.DType, c.Ragged, c.Shape = tensor.Float32, false, []int{depth}
		return c, nil
	}
	return c, fmt.Errorf("output mode must be int, one_hot, multi_hot or count, got %q", m)
}

// encode returns ids in the mode. All are in [0, depth), or -1 for no id,
// such as a masked value of a vector.
func (m OutputMode) encode(ids []int64, c *cells, depth int) result {
	switch m {
	case OneHot:
		out := make([]float32, len(ids)*depth)
		for i, id := range ids {
			if id >= 0 {
				out[i*depth+int(id)] = 1
			}
		}
		return result{floats: out}
	case MultiHot, Count:
		out := make([]float32, c.rows*depth)
		for row := range c.rows {
			from, to := c.span(row)
			for _, id := range ids[from:to] {
				switch {
				case id < 0:
				case m == Count:
					out[row*depth+int(id)]++
				default:
					out[row*depth+int(id)] = 1
				}
			}
		}
		return result{floats: out}
	}
	return result{ints: ids}
}

// CategoryEncoding turns ids into vectors.
type CategoryEncoding struct {
	Tokens int // ids lie in [0, Tokens)
	Mode   OutputMode
}

// String is like CategoryEncoding(5, multi_hot).
func (l *CategoryEncoding) String() string {
	return fmt.Sprintf("CategoryEncoding(%d, %s)", l.Tokens, l.mode())
}

func (l *CategoryEncoding) mode() OutputMode {
	if l.Mode == "" {
		return MultiHot
	}
	return l.Mode
}

func (l *CategoryEncoding) output(c inputs.Column) (inputs.Column, error) {
	if err := positive("the number of tokens", l.Tokens); err != nil {
		return c, err
	}
	if !isInteger(c.DType) {
		return c, fmt.Errorf("expected ids, got %s", c)
	}
	if l.Mode == Int {
		return c, fmt.Errorf("output mode must be one_hot, multi_hot or count, got int")
	}
	return l.mode().output(c, l.Tokens)
}

func (l *CategoryEncoding) call(c *cells, at func(int, error) error) (result, error) {
	ids, err := c.ints()
	if err != nil {
		return result{}, err
	}
	for i, id := range ids {
		if id < 0 || id >= int64(l.Tokens) {
			return result{}, at(i, fmt.Errorf("expected an id in [0, %d)", l.Tokens))
		}
	}
	return l.mode().encode(ids, c, l.Tokens), nil
}
