package feature

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/goestimator/goestimator/tensor"
)

// DefaultHashKey seeds crosses that have no HashKey.
const DefaultHashKey uint64 = 0xDECAFCAFFE

// Key is a raw feature as a part of a cross: its strings, or its integers unhashed.
type Key string

// Name is the feature's name.
func (k Key) Name() string { return string(k) }

// String is the feature's name.
func (k Key) String() string { return string(k) }

func (k Key) check() error      { return noKey(string(k)) }
func (k Key) parents() []Column { return nil }
func (k Key) reads() []read {
	return []read{{key: string(k), kind: token, spec: ExampleSpec{Key: string(k), DType: tensor.String, VarLen: true}}}
}

// Crossed is crossed_column: the hash of every combination of the values of its
// parts, modulo Size. As in TensorFlow, parts that are dense features come after
// the others in the chain of hashes, whatever the order of Of. Their empty strings and
// -1 count as values, and so does a categorical column's -1.
type Crossed struct {
	// Of has at least two Keys and categorical columns, but no HashBucket (use
	// its Key), no weighted and no sequence column. A cross among them stands for its
	// own parts.
	Of      []Column
	Size    int    // number of buckets
	HashKey uint64 // 0: DefaultHashKey
}

// Name is the sorted names of the parts, joined by _X_.
func (c *Crossed) Name() string {
	var names []string
	for _, p := range c.leaves(nil) {
		names = append(names, p.Name())
	}
	slices.Sort(names)
	return strings.Join(names, "_X_")
}

// String is like crossed([age_bucketized job], 1000).
func (c *Crossed) String() string {
	key := ""
	if c.HashKey != 0 {
		key = fmt.Sprintf(", hash_key=%d", c.HashKey)
	}
	return fmt.Sprintf("crossed(%v, %d%s)", c.Of, c.Size, key)
}

// Buckets is Size.
func (c *Crossed) Buckets() int { return c.Size }

// Leaves returns the parts, with each cross replaced by its parts.
func (c *Crossed) Leaves() []Column { return c.leaves(nil) }

// leaves appends the parts without crosses.
func (c *Crossed) leaves(out []Column) []Column {
	for _, p := range c.Of {
		if x, ok := p.(*Crossed); ok {
			out = x.leaves(out)
		} else {
			out = append(out, p)
		}
	}
	return out
}

func (c *Crossed) check() error {
	if len(c.Of) < 2 {
		return fmt.Errorf("expected at least 2 parts, got %d", len(c.Of))
	}
	for _, p := range c.Of {
		switch p := p.(type) {
		case Key, *Crossed, *Bucketized, *Identity, *Vocabulary, *VocabularyFile, Mapping:
		case *HashBucket:
			return fmt.Errorf("hash bucket column %q cannot be crossed: give its key, which is hashed once and not twice", p.Key)
		case nil:
			return fmt.Errorf("a part is nil")
		default:
			return fmt.Errorf("%v cannot be crossed: expected a key, or a bucketized, identity, vocabulary or crossed column", p)
		}
	}
	return positive("the number of buckets", c.Size)
}

func (c *Crossed) parents() []Column { return c.Of }
func (c *Crossed) reads() []read     { return nil }

// part is what one part adds to the hashes: row i has hashes offsets[i] to offsets[i+1]-1.
type part struct {
	hashes  []uint64
	offsets []int32
	dense   bool
}

// usualParts is the number of parts for which a cross needs no extra memory.
const usualParts = 8

// parts appends the parts in the order of the hash chain.
func (c *Crossed) parts(b *batch, out []part) ([]part, error) {
	var columns [usualParts]Column
	var dense [usualParts]part
	last := dense[:0]
	for _, leaf := range c.leaves(columns[:0]) {
		p, err := newPart(b, leaf)
		if err != nil {
			return nil, err
		}
		if p.dense {
			last = append(last, p)
		} else {
			out = append(out, p)
		}
	}
	return append(out, last...), nil
}

func newPart(b *batch, leaf Column) (part, error) {
	if k, ok := leaf.(Key); ok {
		cells, err := b.cells(string(k))
		if err != nil {
			return part{}, err
		}
		h, err := b.hashes(string(k))
		if err != nil {
			return part{}, err
		}
		if cells.missing != nil {
			return part{}, fmt.Errorf("feature %q has null values, which cannot be crossed: fill them, or cross a vocabulary column of it", k)
		}
		if cells.offsets == nil {
			return part{hashes: h, offsets: b.even(cells.width), dense: true}, nil
		}
		return part{hashes: h, offsets: cells.offsets}, nil
	}
	l, err := idsOf(leaf, b)
	if err != nil {
		return part{}, err
	}
	return part{hashes: unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(l.values))), len(l.values)), offsets: l.offsets}, nil
}

func (c *Crossed) ids(b *batch) (*idList, error) {
	return b.ids(c, "", func(l *idList) (*idList, error) {
		var room [usualParts]part
		parts, err := c.parts(b, room[:0])
		if err != nil {
			return nil, err
		}
		seed := c.HashKey
		if seed == 0 {
			seed = DefaultHashKey
		}
		*l = idList{values: l.values, offsets: b.even(1)}
		if one := !slices.ContainsFunc(parts, func(p part) bool { return !slices.Equal(p.offsets, l.offsets) }); one {
			l.values = sized(l.values, b.rows())
			crossSingles(l.values, parts, seed)
		} else {
			if l.offsets, err = productOffsets(parts, b.rows()); err != nil {
				return nil, err
			}
			l.values = sized(l.values, int(l.offsets[b.rows()]))
			crossRows(l, parts, seed)
		}
		for i, v := range l.values {
			l.values[i] = int64(uint64(v) % uint64(c.Size))
		}
		return l, nil
	})
}

// maxCrossed bounds the combinations of a batch.
const maxCrossed = 1 << 26

// productOffsets returns the offsets of each row's combinations.
func productOffsets(parts []part, rows int) ([]int32, error) {
	out := make([]int32, rows+1)
	total := 0
	for row := range rows {
		n := 1
		for _, p := range parts {
			n = min(n*int(p.offsets[row+1]-p.offsets[row]), maxCrossed+1)
		}
		if total += n; total > maxCrossed {
			return nil, fmt.Errorf("a batch has more than %d combinations of crossed values: use smaller batches or fewer parts", maxCrossed)
		}
		out[row+1] = int32(total)
	}
	return out, nil
}

// crossSingles chains one value per part in each row.
func crossSingles(out []int64, parts []part, seed uint64) {
	for i := range out {
		h := seed
		for _, p := range parts {
			h = FingerprintCat64(h, p.hashes[i])
		}
		out[i] = int64(h)
	}
}

// crossRows chains all combinations, the last part's values varying fastest.
func crossRows(l *idList, parts []part, seed uint64) {
	var now, next []uint64
	for row := range len(l.offsets) - 1 {
		now = append(now[:0], seed)
		for _, p := range parts {
			next = next[:0]
			for _, h := range now {
				for _, x := range p.hashes[p.offsets[row]:p.offsets[row+1]] {
					next = append(next, FingerprintCat64(h, x))
				}
			}
			now, next = next, now
		}
		for i, h := range now {
			l.values[int(l.offsets[row])+i] = int64(h)
		}
	}
}
