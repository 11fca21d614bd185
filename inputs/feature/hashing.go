package feature

import (
	"fmt"
	"strconv"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/imported/fingerprint"
	"github.com/goestimator/goestimator/tensor"
)

// Hashing maps strings, and integers in decimal, to bins: by fingerprint, or by
// SipHash with a salt.
type Hashing struct {
	Bins int
	// Mask is a value, an integer in decimal, that has bin 0 to itself;
	// nil: none.
	Mask *string
	Salt *[2]uint64 // Keras' salt; a single number is used twice; nil: none
	Mode OutputMode
}

// String is like Hashing(1000, int).
func (l *Hashing) String() string {
	s := fmt.Sprintf("Hashing(%d, %s", l.Bins, modeOr(l.Mode))
	if l.Mask != nil {
		s += fmt.Sprintf(", mask=%q", *l.Mask)
	}
	if l.Salt != nil {
		s += fmt.Sprintf(", salt=%v", *l.Salt)
	}
	return s + ")"
}

func modeOr(m OutputMode) OutputMode {
	if m == "" {
		return Int
	}
	return m
}

func (l *Hashing) output(c inputs.Column) (inputs.Column, error) {
	if err := positive("the number of bins", l.Bins); err != nil {
		return c, err
	}
	if c.DType != tensor.String && !isInteger(c.DType) {
		return c, fmt.Errorf("expected strings or integers, got %s", c)
	}
	return l.Mode.output(c, l.Bins)
}

func (l *Hashing) call(c *cells, _ func(int, error) error) (result, error) {
	value, err := decimals(c)
	if err != nil {
		return result{}, err
	}
	bins, first := uint64(l.Bins), int64(0)
	masked := l.Mask != nil && l.Bins > 1
	if masked {
		bins, first = bins-1, 1
	}
	ids := make([]int64, c.count)
	for i := range ids {
		s := value(i)
		switch {
		case masked && string(s) == *l.Mask:
		case l.Salt != nil:
			ids[i] = first + int64(fingerprint.Sip64(*l.Salt, s)%bins)
		default:
			ids[i] = first + int64(Fingerprint64(s)%bins)
		}
	}
	return l.Mode.encode(ids, c, l.Bins), nil
}

// decimals returns a function that returns value i as a string, valid until its next call.
func decimals(c *cells) (func(i int) []byte, error) {
	if t, err := c.texts(); err == nil {
		return t.value, nil
	}
	x, err := c.ints()
	if err != nil {
		return nil, err
	}
	var buf []byte
	return func(i int) []byte {
		buf = strconv.AppendInt(buf[:0], x[i], 10)
		return buf
	}, nil
}
