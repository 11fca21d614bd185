package feature

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// StringLookup maps strings to ids: 0 for Mask, if there is one, then OOV ids
// for strings outside the vocabulary, then the ids of its entries. In the modes that make
// vectors, Mask has no id, and a vector of zeros.
type StringLookup struct {
	Vocabulary []string // without mask and out-of-vocabulary tokens
	OOV        int      // 0: Keras' default 1; -1: none, an unknown string is an error
	Mask       *string  // nil: none
	Mode       OutputMode
}

// IntegerLookup is StringLookup for integers. An integer outside the vocabulary goes to
// OOV id value modulo OOV.
type IntegerLookup struct {
	Vocabulary []int64
	OOV        int    // 0: Keras' default 1; -1: none, an unknown integer is an error
	Mask       *int64 // nil: none
	Mode       OutputMode
}

// lookup is what StringLookup and IntegerLookup have in common.
type lookup[K comparable] struct {
	vocabulary []K
	mask       *K
	oov        int
	mode       OutputMode
	hash       func(K) uint64
}

// String is like StringLookup(3 entries, 1 oov, int).
func (l *StringLookup) String() string {
	return l.lookup().text("StringLookup", Fingerprint64(fmt.Appendf(nil, "%q", l.Vocabulary)))
}

// String is like IntegerLookup(3 entries, 1 oov, int).
func (l *IntegerLookup) String() string {
	return l.lookup().text("IntegerLookup", Fingerprint64(fmt.Append(nil, l.Vocabulary)))
}

func (l *StringLookup) lookup() lookup[string] {
	return lookup[string]{l.Vocabulary, l.Mask, l.OOV, l.Mode, func(s string) uint64 { return Fingerprint64([]byte(s)) }}
}

func (l *IntegerLookup) lookup() lookup[int64] {
	oov := int64(lookup[int64]{oov: l.OOV}.indices())
	return lookup[int64]{l.Vocabulary, l.Mask, l.OOV, l.Mode, func(v int64) uint64 { return uint64((v%oov + oov) % oov) }}
}

func (l lookup[K]) text(name string, print uint64) string {
	s := fmt.Sprintf("%s(%d entries %016x, %d oov, %s", name, len(l.vocabulary), print, l.indices(), modeOr(l.mode))
	if l.mask != nil {
		s += ", mask=" + show(*l.mask)
	}
	return s + ")"
}

// indices is the number of ids for values outside the vocabulary.
func (l lookup[K]) indices() int {
	switch {
	case l.oov == 0:
		return 1
	case l.oov < 0:
		return 0
	}
	return l.oov
}

// before is the number of ids before the vocabulary's. Vectors have no element for
// the mask: its vector is all zeros.
func (l lookup[K]) before() int {
	if l.mask != nil && modeOr(l.mode) == Int {
		return l.indices() + 1
	}
	return l.indices()
}

func (l lookup[K]) output(c inputs.Column, want kind) (inputs.Column, error) {
	if err := (read{key: c.Name, kind: want}).accepts(inputs.Column{Name: c.Name, DType: c.DType}); err != nil {
		return c, err
	}
	if len(l.vocabulary) == 0 {
		return c, fmt.Errorf("no vocabulary: give one, or adapt the layer")
	}
	if l.mask != nil {
		for i, v := range l.vocabulary {
			if v == *l.mask {
				return c, fmt.Errorf("the mask %s is entry %d of the vocabulary: remove it there", show(v), i)
			}
		}
	}
	if _, err := indexOf(l.vocabulary); err != nil {
		return c, err
	}
	return l.mode.output(c, l.before()+len(l.vocabulary))
}

func (l lookup[K]) call(c *cells, value func(i int) K, at func(int, error) error) (result, error) {
	index, err := indexOf(l.vocabulary)
	if err != nil {
		return result{}, err
	}
	before, oov := int64(l.before()), l.indices()
	ids := make([]int64, c.count)
	for i := range ids {
		v := value(i)
		id, known := index[v]
		switch {
		case l.mask != nil && v == *l.mask:
			if modeOr(l.mode) != Int {
				ids[i] = -1
			}
		case known:
			ids[i] = before + id
		case oov == 0:
			return result{}, at(i, fmt.Errorf("not in the vocabulary of %d entries, and there are no ids for others: set oov to at least 1", len(index)))
		default:
			ids[i] = before - int64(oov) + int64(l.hash(v)%uint64(oov))
		}
	}
	return l.mode.encode(ids, c, l.before()+len(index)), nil
}

func (l *StringLookup) output(c inputs.Column) (inputs.Column, error) {
	return l.lookup().output(c, text)
}

func (l *StringLookup) call(c *cells, at func(int, error) error) (result, error) {
	t, err := c.texts()
	if err != nil {
		return result{}, err
	}
	return l.lookup().call(c, func(i int) string { return string(t.value(i)) }, at)
}

func (l *IntegerLookup) output(c inputs.Column) (inputs.Column, error) {
	return l.lookup().output(c, integer)
}

func (l *IntegerLookup) call(c *cells, at func(int, error) error) (result, error) {
	x, err := c.ints()
	if err != nil {
		return result{}, err
	}
	return l.lookup().call(c, func(i int) int64 { return x[i] }, at)
}

// Normalization computes (x - Mean) / sqrt(Variance) as float32, with a deviation
// of at least 1e-7.
type Normalization struct {
	Mean     []float32 // one value, or one for each number of an example
	Variance []float32 // as many values as Mean
}

// String includes mean and variance.
func (l *Normalization) String() string {
	return fmt.Sprintf("Normalization(%v, %v)", l.Mean, l.Variance)
}

func (l *Normalization) output(c inputs.Column) (inputs.Column, error) {
	if err := (read{key: c.Name, kind: number}).accepts(inputs.Column{Name: c.Name, DType: c.DType}); err != nil {
		return c, err
	}
	size := c.Size()
	if n := len(l.Mean); n != len(l.Variance) || n == 0 || n > 1 && (n != size || c.Ragged) {
		return c, fmt.Errorf("%d means and %d variances: expected as many of both, one or %d: give them, or adapt the layer", n, len(l.Variance), size)
	}
	c.DType = tensor.Float32
	return c, nil
}

func (l *Normalization) call(c *cells, _ func(int, error) error) (result, error) {
	x, err := c.floats()
	if err != nil {
		return result{}, err
	}
	const epsilon = 1e-7
	n := len(l.Mean)
	std := make([]float32, n)
	for i, v := range l.Variance {
		std[i] = max(float32(math.Sqrt(float64(v))), epsilon)
	}
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = (v - l.Mean[i%n]) / std[i%n]
	}
	return result{floats: out}, nil
}
