package feature

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// A Mapping is a categorical column that users write: a Go function computes the ids. It is
// computed when data is read, under every strategy. A graph cannot contain it, so a model with
// a Mapping cannot be exported; models with Formula or Vocabulary can.
type Mapping interface {
	Categorical
	// Feature returns the raw feature that it reads, of strings or integers.
	Feature() (key string, d tensor.DType)
	// ID returns the id of a value, an integer in decimal; -1: none. It is called concurrently.
	ID(value string) (int, error)
}

// mapping is a Mapping as a column of this package.
type mapping struct{ Mapping }

func (c mapping) parents() []Column { return nil }

func (c mapping) reads() []read {
	key, d := c.Feature()
	return categoryRead(key, d)
}

func (c mapping) check() error {
	key, d := c.Feature()
	if err := noKey(key); err != nil {
		return err
	}
	if err := checkDType(d); err != nil {
		return err
	}
	return checkOwn(c.Mapping, c.Buckets())
}

func (c mapping) ids(b *batch) (*idList, error) {
	return b.ids(c.Mapping, "", func(l *idList) (*idList, error) {
		key, d := c.Feature()
		t, err := b.tokens(key, false)
		if err != nil {
			return nil, err
		}
		value, err := t.values(b, dtypeKind(d))
		if err != nil {
			return nil, err
		}
		id := func(v int) (int64, error) {
			id, err := c.ID(value(v))
			if err == nil && (id < -1 || id >= c.Buckets()) {
				err = fmt.Errorf("id %d: expected one in [0, %d), or -1 for none", id, c.Buckets())
			}
			return int64(id), err
		}
		return newIDs(l, t, id, func(i int, err error) error { return b.bad(c.Name(), t.offsets, i, value(t.value(i)), err) })
	})
}

// values returns a function that returns value i of a feature as a string, integers in decimal.
func (t *tokens) values(b *batch, k kind) (func(i int) string, error) {
	if k == integer {
		x, err := b.ints(t.key)
		return func(i int) string { return showInt(x[i]) }, err
	}
	x, err := t.texts()
	return func(i int) string { return string(x.value(i)) }, err
}
