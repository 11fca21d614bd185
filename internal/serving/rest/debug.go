package rest

import (
	"math"
	"strconv"
)

// debugLimit is the size at which a value in an error is cut off; longestDebug is the number of bytes shown of a
// string, which TensorFlow Serving shows whole.
const (
	debugLimit   = 256
	longestDebug = 4096
)

// debug prints a value for an error: as JSON, cut off after debugLimit bytes or before a number that is not finite.
func (d *document) debug(c cursor) string {
	w := &writer{single: true}
	w.value(&c)
	return string(w.buf)
}

// value writes the value at c and moves past it; it returns false once the limit is reached. Each level writes
// something, so the limit also bounds the depth.
func (w *writer) value(c *cursor) bool {
	if len(w.buf) >= debugLimit {
		return false
	}
	switch c.d.b[c.p] {
	case '{', '[':
		return w.container(c)
	case '"':
		w.quoted(shown(unquote(c.text())))
	case 't', 'f', 'n':
		w.raw(string(c.text()))
	default:
		w.before()
		var ok bool
		if w.buf, ok = appendDebugNumber(w.buf, c); !ok {
			return false
		}
	}
	c.skip()
	return true
}

func (w *writer) container(c *cursor) bool {
	object, count := c.isObject(), c.count()
	opening, closing := byte('['), byte(']')
	if object {
		opening, closing = '{', '}'
	}
	w.open(opening)
	c.enter()
	for range count {
		if object {
			if len(w.buf) >= debugLimit {
				return false
			}
			w.quoted(shown(c.name()))
		}
		if !w.value(c) {
			return false
		}
	}
	if len(w.buf) >= debugLimit {
		return false
	}
	w.close(closing)
	c.separator(c.p + 1)
	return true
}

func shown(s []byte) []byte { return s[:min(len(s), longestDebug)] }

// appendDebugNumber appends a number as RapidJSON writes it, or nothing if it is not finite.
func appendDebugNumber(out []byte, c *cursor) ([]byte, bool) {
	x, end, ok := readDecimal(c.d.b, c.p)
	if !ok {
		return out, false
	}
	if x.integer {
		if x.neg && x.m != 0 {
			out = append(out, '-')
		}
		return strconv.AppendUint(out, x.m, 10), true
	}
	f := x.float64(c.d.b[c.p:end])
	if math.IsInf(f, 0) {
		return out, false
	}
	return appendShortest(out, f), true
}

// appendShortest appends a finite double with the fewest digits that distinguish it from all others, like RapidJSON's
// dtoa: without an exponent from 1e-6 to 1e21, and with at least one decimal place.
func appendShortest(out []byte, f float64) []byte {
	if f == 0 {
		if math.Signbit(f) {
			out = append(out, '-')
		}
		return append(out, "0.0"...)
	}
	exp := exponent10(f)
	if exp < -6 || exp > 20 {
		start := len(out)
		out = strconv.AppendFloat(out, f, 'e', -1, 64)
		return trimExponent(out, start)
	}
	start := len(out)
	out = strconv.AppendFloat(out, f, 'f', -1, 64)
	for _, c := range out[start:] {
		if c == '.' {
			return out
		}
	}
	return append(out, ".0"...)
}

// exponent10 is the decimal exponent of the shortest form of f.
func exponent10(f float64) int {
	var buf [32]byte
	s := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	for i, c := range s {
		if c == 'e' {
			exp, _ := strconv.Atoi(string(s[i+1:]))
			return exp
		}
	}
	return 0
}

// trimExponent drops the plus sign and the leading zero of the exponent of the number at start.
func trimExponent(out []byte, start int) []byte {
	for i := start; i < len(out); i++ {
		if out[i] != 'e' {
			continue
		}
		keep := i + 1
		if out[keep] == '-' {
			keep++
		}
		from := i + 2
		if out[from] == '0' {
			from++
		}
		return append(out[:keep], out[from:]...)
	}
	return out
}
