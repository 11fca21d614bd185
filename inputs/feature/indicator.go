package feature

import "fmt"

// Indicator is indicator_column: how often each id occurs in an example, or the
// sum of its weights. Over a Sequence it counts each step on its own. With MultiHot
// it is 1 if the id occurs, else 0, as in Keras' CategoryEncoding.
type Indicator struct {
	Of       Categorical
	MultiHot bool
}

// Name is the categorical column's name with the suffix _indicator.
func (c *Indicator) Name() string { return c.Of.Name() + "_indicator" }

// String is like indicator(vocabulary(sex, ["f" "m"])).
func (c *Indicator) String() string {
	if c.MultiHot {
		return fmt.Sprintf("indicator(%v, multi_hot)", c.Of)
	}
	return fmt.Sprintf("indicator(%v)", c.Of)
}

// Width is the number of ids.
func (c *Indicator) Width() int { return c.Of.Buckets() }

func (c *Indicator) check() error {
	if c.Of == nil {
		return fmt.Errorf("no categorical column")
	}
	if c.Of.Buckets() > 1<<24 {
		return fmt.Errorf("vectors of %d numbers are too long: use an embedding", c.Of.Buckets())
	}
	if _, weighted := c.Of.(*Weighted); weighted && c.MultiHot {
		return fmt.Errorf("%v has weights, which an indicator of mode multi_hot does not: leave the mode or the weights out", c.Of)
	}
	return nil
}

func (c *Indicator) parents() []Column { return []Column{c.Of} }
func (c *Indicator) reads() []read     { return nil }

func (c *Indicator) dense(b *batch, out []float32) error {
	l, err := idsOf(c.Of, b)
	if err != nil {
		return err
	}
	w := c.Width()
	for row := range b.rows() {
		counts := out[row*w : (row+1)*w]
		for i := int(l.offsets[row]); i < int(l.offsets[row+1]); i++ {
			if id := l.values[i]; c.MultiHot && id >= 0 {
				counts[id] = 1
				continue
			}
			l.count(counts, i)
		}
	}
	return nil
}

// count adds id i of the list to the counts.
func (l *idList) count(counts []float32, i int) {
	id := l.values[i]
	switch {
	case id < 0:
	case l.weights != nil:
		counts[id] += l.weights[i]
	default:
		counts[id]++
	}
}

// steps returns the counts of each step.
func (c *Indicator) steps(b *batch) ([]float32, []int32, error) {
	l, err := idsOf(c.Of, b)
	if err != nil {
		return nil, nil, err
	}
	w := c.Width()
	out, offsets := make([]float32, len(l.values)*w), make([]int32, len(l.offsets))
	for i := range l.values {
		l.count(out[i*w:(i+1)*w], i)
	}
	for i, o := range l.offsets {
		offsets[i] = o * int32(w)
	}
	return out, offsets, nil
}
