package rest

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

func digit(c byte) bool { return c-'0' <= 9 }

// digits8 reports whether the eight bytes of v are digits.
func digits8(v uint64) bool {
	return (v&0xF0F0F0F0F0F0F0F0)|((v+0x0606060606060606)&0xF0F0F0F0F0F0F0F0)>>4 == 0x3333333333333333
}

// number8 is the value of eight digits, the first in the lowest byte.
func number8(v uint64) uint64 {
	v -= 0x3030303030303030
	v = v*10 + v>>8
	return (v&0x000000FF000000FF*0x000F424000000064 + v>>16&0x000000FF000000FF*0x0000271000000001) >> 32
}

// skipDigits returns the first offset from p on without a digit.
func skipDigits(b []byte, p int) int {
	for digits8(binary.LittleEndian.Uint64(b[p:])) {
		p += 8
	}
	for digit(b[p]) {
		p++
	}
	return p
}

// scanNumber checks the number at p and returns the offset after it, or the offset of the error.
func scanNumber(b []byte, p int) (int, string) {
	start := p
	if b[p] == '-' {
		p++
	}
	switch c := b[p]; {
	case c == '0':
		p++
	case digit(c):
		for p++; digit(b[p]); p++ {
		}
	default:
		return scanSpecial(b, p)
	}
	big := p-start > 300
	if b[p] == '.' {
		if p++; !digit(b[p]) {
			return p, errFraction
		}
		p = skipDigits(b, p)
	}
	if b[p] == 'e' || b[p] == 'E' {
		if p++; b[p] == '+' || b[p] == '-' {
			p++
		}
		if !digit(b[p]) {
			return p, errExponent
		}
		exponent := p
		p = skipDigits(b, p)
		big = big || p-exponent > 2
	}
	if big && tooBig(b[start:p]) {
		return start, errTooBig
	}
	return p, ""
}

// scanSpecial checks NaN, Inf and Infinity.
func scanSpecial(b []byte, p int) (int, string) {
	switch b[p] {
	case 'N':
		return scanWord(b, p, "NaN")
	case 'I':
		p, text := scanWord(b, p, "Inf")
		if text == "" && b[p] == 'i' {
			return scanWord(b, p, "inity")
		}
		return p, text
	}
	return p, errValue
}

// tooBig reports whether RapidJSON finds a number too big for a double: an integer part from about 1.8e308 on, or an
// exponent above 308 plus the digits of the fraction that it uses: up to 2^53, and up to 17 digits.
func tooBig(num []byte) bool {
	i := 0
	if num[0] == '-' {
		i++
	}
	first, d := i, 0.0
	for ; i < len(num) && digit(num[i]); i++ {
		if d >= 1.7976931348623157e307 {
			return true
		}
		d = d*10 + float64(num[i]-'0')
	}
	used, fraction := i-first-1, 0
	if i < len(num) && num[i] == '.' {
		for i++; i < len(num) && digit(num[i]); i++ {
			if d >= 1<<53 && used >= 17 {
				continue
			}
			fraction++
			if d = d*10 + float64(num[i]-'0'); d > 0 {
				used++
			}
		}
	}
	if i == len(num) || num[i+1] == '-' {
		return false
	}
	exp := 0
	for _, c := range bytes.TrimLeft(num[i+1:], "+") {
		if exp = exp*10 + int(c-'0'); exp > 308+fraction {
			return true
		}
	}
	return false
}

// decimal is a number as written: ±m × 10^e.
type decimal struct {
	m       uint64
	e       int
	neg     bool
	integer bool // has neither fraction nor exponent, and fits 64 bits
	rounded bool // has more digits than m holds
}

// most is the largest number to which any digit can be appended.
const most = (math.MaxUint64 - 9) / 10

// readDecimal reads the number at p of a checked text; ok is false for NaN, infinities and everything else that does
// not begin like a number.
func readDecimal(b []byte, p int) (d decimal, end int, ok bool) {
	if b[p] == '-' {
		d.neg = true
		p++
	}
	if !digit(b[p]) {
		return d, p, false
	}
	m, e := uint64(b[p]-'0'), 0
	for p++; m > 0 && digit(b[p]); p++ { // a leading zero has no digits after it
		x := uint64(b[p] - '0')
		if m <= most || m == most+1 && x <= 5 {
			m = m*10 + x
		} else {
			d.rounded = true
			e++
		}
	}
	d.integer = !d.rounded && !(d.neg && m > 1<<63)
	if b[p] == '.' {
		d.integer = false
		p++
		for m < 1e11 {
			v := binary.LittleEndian.Uint64(b[p:])
			if !digits8(v) {
				break
			}
			m = m*1e8 + number8(v)
			e -= 8
			p += 8
		}
		for ; digit(b[p]); p++ {
			if m <= most && !d.rounded {
				m = m*10 + uint64(b[p]-'0')
				e--
			} else {
				d.rounded = true
			}
		}
	}
	if b[p] == 'e' || b[p] == 'E' {
		d.integer = false
		var exp int
		exp, p = readExponent(b, p+1)
		e += exp
	}
	d.m, d.e = m, e
	return d, p, true
}

// readExponent reads the exponent after an e; its size is limited.
func readExponent(b []byte, p int) (exp, end int) {
	neg := b[p] == '-'
	if neg || b[p] == '+' {
		p++
	}
	for ; digit(b[p]); p++ {
		if exp < 1e6 {
			exp = exp*10 + int(b[p]-'0')
		}
	}
	if neg {
		exp = -exp
	}
	return exp, p
}

// tenths are the powers of ten from 1e-22 to 1e22; the powers below 1 are rounded.
var tenths = [...]float64{1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7,
	1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19, 1e20, 1e21, 1e22}

// float64 returns the double that is nearest to the number, which is text (Clinger's fast path, else strconv).
func (d decimal) float64(text []byte) float64 {
	if d.m == 0 && d.integer {
		return 0 // the integer -0 has no sign
	}
	if d.m <= 1<<53 && !d.rounded && d.e >= -22 && d.e <= 22 {
		f := float64(d.m)
		if d.e < 0 {
			f /= tenths[22-d.e]
		} else {
			f *= tenths[22+d.e]
		}
		if d.neg {
			f = -f
		}
		return f
	}
	f, _ := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64) // out of range: an infinity or zero
	return f
}

// float32 returns float32(d.float64(text)). The product, rounded three times, is within four units of the nearest
// double; the nearest double itself is needed only if rounding to float32 differs within eight units.
func (d decimal) float32(text []byte) float32 {
	if i := uint(d.e + 22); i < uint(len(tenths)) && !d.rounded {
		f := float64(d.m) * tenths[i]
		low := math.Float64bits(f) & (1<<29 - 1)
		if low-(1<<28-8) > 16 && f >= 0x1p-126 && f < 0x1p127 {
			if d.neg {
				f = -f
			}
			return float32(f)
		}
	}
	return float32(d.float64(text))
}

// special returns NaN or an infinity, whose sign and first letter are at p.
func special(b []byte, p int) (f float64, end int, ok bool) {
	sign := 1
	if b[p] == '-' {
		sign = -1
		p++
	}
	switch {
	case b[p] == 'N':
		return math.NaN(), p + 3, true
	case b[p] == 'I' && b[p+3] == 'i':
		return math.Inf(sign), p + 8, true
	case b[p] == 'I':
		return math.Inf(sign), p + 3, true
	}
	return 0, p, false
}
