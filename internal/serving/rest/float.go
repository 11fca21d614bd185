package rest

import (
	"math"
	"strconv"
)

// appendFloat appends a number of a reply: with six digits if they give v back, otherwise with nine for a float32 or
// seventeen for a float64. A whole number ends in ".0", so that a client takes it for a float.
func appendFloat(out []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(out, "NaN"...)
	case v == 0 && !math.Signbit(v):
		return append(out, "0.0"...)
	case math.IsInf(v, 1):
		return append(out, "Infinity"...)
	case math.IsInf(v, -1):
		return append(out, "-Infinity"...)
	}
	digits := 17
	if bits == 32 {
		if n, exp, ok := nineDigits(math.Abs(v)); ok {
			return appendFast(out, v, n, exp)
		}
		digits = 9
	}
	start := len(out)
	out = strconv.AppendFloat(out, v, 'g', 6, bits)
	if back, _ := strconv.ParseFloat(string(out[start:]), bits); back != v {
		out = strconv.AppendFloat(out[:start], v, 'g', digits, bits)
	}
	for _, c := range out[start:] {
		if c == '.' || c == 'e' {
			return out
		}
	}
	return append(out, ".0"...)
}

// nineDigits returns v, above zero, rounded to n × 10^(exp-8) with 10^8 <= n < 10^9. The product is accurate to sixteen
// digits; ok is false if these do not decide the rounding, and for rare magnitudes.
func nineDigits(v float64) (n uint64, exp int, ok bool) {
	if v < 1e-13 || v >= 1e20 {
		return 0, 0, false
	}
	exp = (int(math.Float64bits(v)>>52)-1023)*1233>>12 + 1 // at most one above the decimal exponent
	y := v * tenths[22+8-exp]
	if y < 1e8 {
		exp--
		y = v * tenths[22+8-exp]
	}
	n = uint64(y)
	rest := y - float64(n)
	if rest > 0.5 {
		n++
	}
	return n, exp, math.Abs(rest-0.5) > 1e-5 && n >= 1e8 && n < 1e9
}

// appendFast appends the float32 v, rounded by nineDigits. Six digits give v back only if the other three are near zero or
// a thousand: half a unit of v's last place is less than 61 of them.
func appendFast(out []byte, v float64, n uint64, exp int) []byte {
	digits := 9
	if last := n % 1000; last <= 60 || last >= 940 {
		six, e := (n+500)/1000, exp-5
		text := strconv.AppendUint(make([]byte, 0, 32), six, 10)
		text = strconv.AppendInt(append(text, 'e'), int64(e), 10)
		if float64(decimal{m: six, e: e}.float32(text)) == math.Abs(v) {
			n, digits = six*1000, 6
			if six == 1e6 {
				n, exp = 1e8, exp+1
			}
		}
	}
	var buf [9]byte
	for i := 8; i >= 0; i-- {
		buf[i] = byte('0' + n%10)
		n /= 10
	}
	s := buf[:]
	for s[len(s)-1] == '0' && len(s) > 1 {
		s = s[:len(s)-1]
	}
	if v < 0 {
		out = append(out, '-')
	}
	return appendDigits(out, s, exp, digits)
}

// appendDigits appends the number d.ddd × 10^exp as %g does with that many digits, and a whole number with ".0".
func appendDigits(out, s []byte, exp, digits int) []byte {
	switch {
	case exp < -4 || exp >= digits:
		out = append(out, s[0])
		if len(s) > 1 {
			out = append(append(out, '.'), s[1:]...)
		}
		sign := byte('+')
		if exp < 0 {
			sign, exp = '-', -exp
		}
		return append(out, 'e', sign, byte('0'+exp/10), byte('0'+exp%10))
	case exp < 0:
		out = append(out, "0.000"[:1-exp]...)
		return append(out, s...)
	case len(s) > exp+1:
		out = append(append(out, s[:exp+1]...), '.')
		return append(out, s[exp+1:]...)
	default:
		out = append(out, s...)
		return append(out, "00000000.0"[len(s)+7-exp:]...)
	}
}
