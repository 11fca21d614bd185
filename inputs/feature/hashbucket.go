package feature

import (
	"fmt"
	"strconv"

	"github.com/goestimator/goestimator/tensor"
)

// HashBucket is categorical_column_with_hash_bucket: the id is the fingerprint of
// the string, or of an integer's decimal digits, modulo Size.
type HashBucket struct {
	Key   string
	Size  int          // number of buckets
	DType tensor.DType // an integer type; 0: strings
}

// Name is the key.
func (c *HashBucket) Name() string { return c.Key }

// String is like hash_bucket(job, 1000).
func (c *HashBucket) String() string {
	return fmt.Sprintf("hash_bucket(%s, %d%s)", c.Key, c.Size, dtypeText(c.DType))
}

func dtypeText(d tensor.DType) string {
	if d == 0 || d == tensor.String {
		return ""
	}
	return ", dtype=" + d.String()
}

// Buckets is Size.
func (c *HashBucket) Buckets() int { return c.Size }

func (c *HashBucket) check() error {
	if err := noKey(c.Key); err != nil {
		return err
	}
	if err := checkDType(c.DType); err != nil {
		return err
	}
	return positive("the number of buckets", c.Size)
}

func (c *HashBucket) parents() []Column { return nil }
func (c *HashBucket) reads() []read     { return categoryRead(c.Key, c.DType) }

func (c *HashBucket) ids(b *batch) (*idList, error)   { return c.lookup(b, false) }
func (c *HashBucket) steps(b *batch) (*idList, error) { return c.lookup(b, true) }

func (c *HashBucket) lookup(b *batch, steps bool) (*idList, error) {
	return b.ids(c, stepsOf(steps), func(l *idList) (*idList, error) {
		t, err := b.tokens(c.Key, steps)
		if err != nil {
			return nil, err
		}
		n := uint64(c.Size)
		if dtypeKind(c.DType) == integer {
			x, err := b.ints(c.Key)
			if err != nil {
				return nil, err
			}
			return newIDs(l, t, func(v int) (int64, error) { return int64(hashInt(x[v]) % n), nil }, nil)
		}
		h, err := b.hashes(c.Key)
		if err != nil {
			return nil, err
		}
		if t.at == nil {
			*l = idList{values: sized(l.values, t.len()), offsets: t.offsets}
			for i := range l.values {
				l.values[i] = int64(h[i] % n)
			}
			return l, nil
		}
		return newIDs(l, t, func(v int) (int64, error) { return int64(h[v] % n), nil }, nil)
	})
}

// stepsOf returns listOf.what for the ids of a column.
func stepsOf(steps bool) string {
	if steps {
		return "steps"
	}
	return ""
}

// hashInt is the fingerprint of an integer's decimal digits.
func hashInt(v int64) uint64 {
	var buf [20]byte
	return Fingerprint64(strconv.AppendInt(buf[:0], v, 10))
}
