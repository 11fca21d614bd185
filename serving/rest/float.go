package rest

import (
	"math"
	"strconv"
)

// appendFloat appends a number of a reply: six digits where they give v back, else nine for a float32 and seventeen for
// a float64; ".0" behind a whole number, so that a client takes it for a float.
func appendFloat(out []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(out, "NaN"...)
	case math.IsInf(v, 1):
		return append(out, "Infinity"...)
	case math.IsInf(v, -1):
		return append(out, "-Infinity"...)
	}
	start := len(out)
	digits := 9
	if bits == 64 {
		digits = 17
	}
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
