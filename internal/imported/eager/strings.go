package eager

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/fingerprint"
	"github.com/goestimator/goestimator/tensor"
)

// stringOps work on strings.
var stringOps = map[*ops.Def]maker{
	ops.StringToHashBucketFast:   hashBucket,
	ops.StringToHashBucketStrong: hashBucket,
	ops.StringToHashBucket:       hashBucket,
	ops.StringJoin:               stringJoin,
	ops.StringFormat:             stringFormat,
	ops.StringLower:              letterCase(toLower, lowerText),
	ops.StringUpper:              letterCase(toUpper, upperText),
	ops.StringStrip:              plain(eachString(stripSpace)),
	ops.StringLength:             stringLength,
	ops.Substr:                   substr,
	ops.EncodeBase64:             encodeBase64,
	ops.DecodeBase64:             plain(eachStringErr(decodeBase64)),
	ops.DecodeRaw:                decodeRaw,
	ops.ReduceJoin:               reduceJoin,
}

// textRoom counts the bytes of strings made, within the limit, and pays for them in steps.
type textRoom struct {
	c     call
	left  int // of the limit
	ahead int // bytes paid for, but not yet used
}

func (c call) textRoom() textRoom { return textRoom{c: c, left: c.env.limit()} }

const textStep = 64 << 10

func (t *textRoom) take(n int) error {
	if t.left -= n; t.left < 0 {
		return fmt.Errorf("%w: the strings of the output", ErrLimit)
	}
	if t.ahead -= n; t.ahead < 0 && t.c.env.counted() {
		more := textStep - t.ahead
		t.ahead += more
		return t.c.pay(more)
	}
	return nil
}

// eachString returns the kernel that applies f to each string.
func eachString(f func([]byte) []byte) kernel {
	return eachStringErr(func(s []byte) ([]byte, error) { return f(s), nil })
}

func eachStringErr(f func([]byte) ([]byte, error)) kernel {
	return func(c call) error {
		if err := want("input", c.t(0), tensor.String); err != nil {
			return err
		}
		out, err := c.output(0, tensor.String, c.t(0).Shape...)
		if err != nil {
			return err
		}
		room := c.textRoom()
		for i, s := range c.t(0).Strings {
			if out.Strings[i], err = f(s); err != nil {
				return err
			}
			if err := room.take(len(out.Strings[i])); err != nil {
				return err
			}
		}
		return nil
	}
}

func hashBucket(s *site) (kernel, error) {
	n := s.node.Int("num_buckets", 0)
	if n < 1 {
		return nil, fmt.Errorf("attribute num_buckets: expected at least 1, got %d", n)
	}
	hash := fingerprint.Hash64
	switch s.node.Op {
	case "StringToHashBucket":
		hash = murmur
	case "StringToHashBucketStrong":
		key := list[int64](s, "key")
		if len(key) != 2 {
			return nil, fmt.Errorf("attribute key: expected 2 numbers, got %d", len(key))
		}
		k := [2]uint64{uint64(key[0]), uint64(key[1])}
		hash = func(s []byte) uint64 { return fingerprint.Sip64(k, s) }
	}
	return func(c call) error {
		if err := want("input", c.t(0), tensor.String); err != nil {
			return err
		}
		dst, err := outputOf[int64](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		for i, s := range c.t(0).Strings {
			dst[i] = int64(hash(s) % uint64(n))
		}
		return nil
	}, nil
}

// murmur is MurmurHash64A (A. Appleby) with TensorFlow's seed (tsl/platform/hash.cc).
func murmur(s []byte) uint64 {
	const m, seed = 0xc6a4a7935bd1e995, 0xDECAFCAFFE
	h := seed ^ uint64(len(s))*m
	for ; len(s) >= 8; s = s[8:] {
		k := binary.LittleEndian.Uint64(s) * m
		h = (h ^ (k^k>>47)*m) * m
	}
	if len(s) > 0 {
		var last [8]byte
		copy(last[:], s)
		h = (h ^ binary.LittleEndian.Uint64(last[:])) * m
	}
	h = (h ^ h>>47) * m
	return h ^ h>>47
}

func stringJoin(s *site) (kernel, error) {
	sep := []byte(s.str("separator", ""))
	return func(c call) error {
		var shape []int
		for i, v := range c.in {
			if err := want("inputs", v.T, tensor.String); err != nil {
				return err
			}
			if len(v.T.Shape) == 0 {
				continue
			}
			if shape != nil && !slices.Equal(shape, v.T.Shape) {
				return fmt.Errorf("input shapes do not match: %v vs. %v of input %d", shape, v.T.Shape, i)
			}
			shape = v.T.Shape
		}
		out, err := c.output(0, tensor.String, shape...)
		if err != nil {
			return err
		}
		room := c.textRoom()
		parts := make([][]byte, len(c.in))
		for i := range out.Strings {
			size := len(sep) * len(parts)
			for j, v := range c.in {
				if parts[j] = v.T.Strings[0]; len(v.T.Shape) > 0 {
					parts[j] = v.T.Strings[i]
				}
				size += len(parts[j])
			}
			if err := room.take(size); err != nil {
				return err
			}
			out.Strings[i] = bytes.Join(parts, sep)
		}
		return nil
	}, nil
}

// letterCase returns the maker of StringLower and StringUpper, which change ASCII letters;
// with encoding UTF-8, all Unicode letters.
func letterCase(ascii func(byte) byte, unicode func([]byte) []byte) maker {
	return func(s *site) (kernel, error) {
		switch e := s.str("encoding", ""); e {
		case "utf-8":
			return eachString(func(s []byte) []byte { // TensorFlow reads it as a C string
				s, _, _ = bytes.Cut(s, []byte{0})
				return unicode(s)
			}), nil
		case "":
			return eachString(func(s []byte) []byte {
				out := make([]byte, len(s))
				for i, b := range s {
					out[i] = ascii(b)
				}
				return out
			}), nil
		default:
			return nil, fmt.Errorf("attribute encoding: expected \"utf-8\" or none, got %q", e)
		}
	}
}

func toLower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func toUpper(b byte) byte {
	if b >= 'a' && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}

func stripSpace(s []byte) []byte { return bytes.Trim(s, " \t\n\v\f\r") }

// units reports whether the unit attribute is UTF-8 characters, not bytes.
func units(s *site) (chars bool) {
	u := s.str("unit", "BYTE")
	if u != "BYTE" && u != "UTF8_CHAR" {
		s.fail("attribute unit: expected BYTE or UTF8_CHAR, got %q", u)
	}
	return u == "UTF8_CHAR"
}

func stringLength(s *site) (kernel, error) {
	chars := units(s)
	return func(c call) error {
		if err := want("input", c.t(0), tensor.String); err != nil {
			return err
		}
		dst, err := outputOf[int32](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		for i, s := range c.t(0).Strings {
			n := len(s)
			if chars {
				n = len(starts(s))
			}
			dst[i] = int32(n)
		}
		return nil
	}, nil
}

// starts returns the index of each UTF-8 character in s: of every byte that is not a continuation byte.
func starts(s []byte) []int {
	var at []int
	for i, b := range s {
		if utf8.RuneStart(b) {
			at = append(at, i)
		}
	}
	return at
}

func substr(s *site) (kernel, error) {
	chars := units(s)
	return func(c call) error {
		in := c.t(0)
		if err := want("input", in, tensor.String); err != nil {
			return err
		}
		if c.t(1).DType != c.t(2).DType || !slices.Equal(c.t(1).Shape, c.t(2).Shape) {
			return fmt.Errorf("pos and len should have the same shape, got: %v vs. %v", c.t(1).Shape, c.t(2).Shape)
		}
		pos, err := c.integers("pos", c.t(1))
		if err != nil {
			return err
		}
		size, err := c.integers("len", c.t(2))
		if err != nil {
			return err
		}
		shape, err := broadcastShape(in.Shape, c.t(1).Shape)
		if err != nil {
			return err
		}
		out, err := c.output(0, tensor.String, shape...)
		if err != nil {
			return err
		}
		return eachPair(shape, in.Shape, c.t(1).Shape, func(i, a, b int) (err error) {
			out.Strings[i], err = cutString(in.Strings[a], pos[b], size[b], chars)
			return err
		})
	}, nil
}

// eachPair calls f with the indices of the elements of two shapes that are broadcast to a third.
func eachPair(shape, a, b []int, f func(i, a, b int) error) error {
	sa, sb := spread(a, shape).steps, spread(b, shape).steps
	for i := range product(shape) {
		pa, pb := 0, 0
		for k, rest := len(shape)-1, i; k >= 0; k-- {
			pa += rest % shape[k] * sa[k]
			pb += rest % shape[k] * sb[k]
			rest /= shape[k]
		}
		if err := f(i, pa, pb); err != nil {
			return err
		}
	}
	return nil
}

// cutString returns `size` bytes or characters of s from pos on; a negative pos counts from the end.
func cutString(s []byte, pos, size int, chars bool) ([]byte, error) {
	at, n := []int(nil), len(s)
	if chars {
		at = starts(s)
		n = len(at)
	}
	if pos < -n || pos > n {
		return nil, fmt.Errorf("pos %d out of range for string b'%s'", pos, clip(s))
	}
	if pos < 0 {
		pos += n
	}
	end := pos + min(max(size, 0), n-pos)
	if !chars {
		if size < 0 { // TensorFlow converts it to a large unsigned number
			end = n
		}
		return s[pos:end:end], nil
	}
	at = append(at, len(s))
	return s[at[pos]:at[end]:at[end]], nil
}

// reduceJoin joins along one dimension after another.
func reduceJoin(s *site) (kernel, error) {
	keep, sep := s.boolean("keep_dims", false), []byte(s.str("separator", ""))
	return func(c call) error {
		t := c.t(0)
		if err := want("inputs", t, tensor.String); err != nil {
			return err
		}
		r, err := reduced(t.Shape, c.t(1), keep)
		if err != nil {
			return err
		}
		axes, err := c.integers("reduction_indices", c.t(1))
		if err != nil {
			return err
		}
		room := c.textRoom()
		for _, k := range axes {
			if k < 0 {
				k += len(t.Shape)
			}
			if t, err = joinAlong(c, t, k, sep, &room); err != nil {
				return err
			}
		}
		c.set(0, reshaped(t, r.out...))
		return nil
	}, nil
}

// joinAlong joins the strings along dimension k, whose size becomes 1.
func joinAlong(c call, t *tensor.Tensor, k int, sep []byte, room *textRoom) (*tensor.Tensor, error) {
	l, shape := laneOf(t.Shape, k), slices.Clone(t.Shape)
	shape[k] = 1
	out, err := c.alloc(tensor.String, shape...)
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, l.n)
	l.each(func(line, first int) {
		if err != nil {
			return
		}
		size := len(sep) * len(parts)
		for i := range parts {
			parts[i] = t.Strings[first+i*l.inner]
			size += len(parts[i])
		}
		if err = room.take(size); err == nil {
			out.Strings[line] = bytes.Join(parts, sep)
		}
	})
	return out, err
}
