package feature

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/goestimator/goestimator/tensor"
)

// Vocabulary is categorical_column_with_vocabulary_list: the id is the position in
// the list. Exactly one of Values and Ints is set.
type Vocabulary struct {
	Key        string
	Values     []string
	Ints       []int64
	Default    *int // id of values outside the list; nil: -1, they are left out
	OOVBuckets int  // ids after the list's, by fingerprint, for values outside it; excludes Default

	entries table
}

// table looks up entries of a vocabulary. It is built once.
type table struct {
	once    sync.Once
	strings map[string]int64
	ints    map[int64]int64
	size    int
	print   uint64 // for a file: fingerprint of the entries
	err     error
}

// Name is the key.
func (c *Vocabulary) Name() string { return c.Key }

// String is like vocabulary(sex, ["f" "m"]); a long list is shown by its
// fingerprint.
func (c *Vocabulary) String() string {
	list := fmt.Sprintf("%q", c.Values)
	if len(c.Ints) > 0 {
		list = fmt.Sprint(c.Ints)
	}
	if len(list) > 200 {
		list = fmt.Sprintf("%d entries, %016x", len(c.Values)+len(c.Ints), Fingerprint64([]byte(list)))
	}
	return fmt.Sprintf("vocabulary(%s, %s%s%s)", c.Key, list, defaultText(c.Default), oovText(c.OOVBuckets))
}

func oovText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", oov_buckets=%d", n)
}

// Buckets is the number of entries plus the number of out-of-vocabulary buckets.
func (c *Vocabulary) Buckets() int { return len(c.Values) + len(c.Ints) + c.OOVBuckets }

// Entries returns the entries in the order of their ids, strings or int64; nil before a Plan has the column.
func (c *Vocabulary) Entries() *tensor.Tensor { return c.entries.tensor() }

func (c *Vocabulary) dtype() tensor.DType {
	if len(c.Ints) > 0 {
		return tensor.Int64
	}
	return tensor.String
}

func (c *Vocabulary) check() error {
	if err := noKey(c.Key); err != nil {
		return err
	}
	if (len(c.Values) > 0) == (len(c.Ints) > 0) {
		return fmt.Errorf("expected a list of strings or one of integers, got %d and %d entries", len(c.Values), len(c.Ints))
	}
	c.entries.once.Do(func() {
		c.entries.err = c.entries.fill(c.Values, c.Ints)
	})
	if c.entries.err != nil {
		return c.entries.err
	}
	return checkOOV(c.Default, c.OOVBuckets, c.entries.size)
}

// fill builds the table.
func (t *table) fill(values []string, ints []int64) error {
	t.size = len(values) + len(ints)
	var err error
	if len(ints) > 0 {
		t.ints, err = indexOf(ints)
		return err
	}
	t.strings, err = indexOf(values)
	return err
}

// tensor returns the entries in the order of their ids.
func (t *table) tensor() *tensor.Tensor {
	switch {
	case t.ints != nil:
		out := tensor.New(tensor.Int64, t.size)
		for v, id := range t.ints {
			tensor.Values[int64](out)[id] = v
		}
		return out
	case t.strings != nil:
		out := tensor.New(tensor.String, t.size)
		for v, id := range t.strings {
			out.Strings[id] = []byte(v)
		}
		return out
	}
	return nil
}

func indexOf[K comparable](values []K) (map[K]int64, error) {
	out := make(map[K]int64, len(values))
	for i, v := range values {
		if at, dup := out[v]; dup {
			return nil, fmt.Errorf("vocabulary entry %s occurs twice, at places %d and %d: remove one", show(v), at, i)
		}
		out[v] = int64(i)
	}
	return out, nil
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

// checkOOV checks the settings for values outside a vocabulary of that size.
func checkOOV(def *int, oov, size int) error {
	switch {
	case oov < 0:
		return fmt.Errorf("oov_buckets must not be negative, got %d", oov)
	case def != nil && oov > 0:
		return fmt.Errorf("default %d and oov_buckets %d exclude each other: values outside the vocabulary get one or the other", *def, oov)
	case def != nil && (*def < -1 || *def >= size):
		return fmt.Errorf("default must lie in [-1, %d), got %d", size, *def)
	}
	return nil
}

func (c *Vocabulary) parents() []Column { return nil }
func (c *Vocabulary) reads() []read     { return categoryRead(c.Key, c.dtype()) }

func (c *Vocabulary) ids(b *batch) (*idList, error)   { return c.lookup(b, false) }
func (c *Vocabulary) steps(b *batch) (*idList, error) { return c.lookup(b, true) }

func (c *Vocabulary) lookup(b *batch, steps bool) (*idList, error) {
	return b.ids(c, stepsOf(steps), func(l *idList) (*idList, error) {
		return c.entries.lookup(b, l, c.Key, steps, outside(c.Default, c.OOVBuckets, c.entries.size))
	})
}

// outside returns a function for the ids of values outside a vocabulary.
func outside(def *int, oov, size int) func(hash func() uint64) int64 {
	id := int64(-1)
	if def != nil {
		id = int64(*def)
	}
	return func(hash func() uint64) int64 {
		if oov == 0 {
			return id
		}
		return int64(size) + int64(hash()%uint64(oov))
	}
}

// lookup sets l to the ids of a feature.
func (t *table) lookup(b *batch, l *idList, key string, steps bool, outside func(hash func() uint64) int64) (*idList, error) {
	tokens, err := b.tokens(key, steps)
	if err != nil {
		return nil, err
	}
	if t.ints != nil {
		x, err := b.ints(key)
		if err != nil {
			return nil, err
		}
		return newIDs(l, tokens, func(v int) (int64, error) {
			if id, ok := t.ints[x[v]]; ok {
				return id, nil
			}
			return outside(func() uint64 { return hashInt(x[v]) }), nil
		}, nil)
	}
	x, err := tokens.texts()
	if err != nil {
		return nil, err
	}
	return newIDs(l, tokens, func(v int) (int64, error) {
		s := x.value(v)
		if id, ok := t.strings[string(s)]; ok {
			return id, nil
		}
		return outside(func() uint64 { return Fingerprint64(s) }), nil
	}, nil)
}
