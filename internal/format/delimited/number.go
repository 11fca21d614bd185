package delimited

import (
	"encoding/binary"
	"math"
)

// Float32 reads the decimal number at byte at of text, for example -1.5e-3, and returns the nearest float32 and the
// position after the number. point is the decimal mark. ok is false if there is no number, or one that this
// function cannot read: use strconv.ParseFloat then.
func Float32(text []byte, at int, point byte) (v float32, next int, ok bool) {
	n := scan(text, at, point)
	if n.next == at {
		return 0, at, false
	}
	wide, ok := n.near()
	if !ok {
		return 0, at, false
	}
	// wide is off by at most two units in the last place. That gives the right float32, unless it may be on the other side of the
	// midpoint of two float32 numbers.
	const low, middle, off = 1<<29 - 1, 1 << 28, 4
	if math.Float64bits(wide)&low-(middle-off) <= 2*off || wide != 0 && (wide < 0x1p-126 || wide >= math.MaxFloat32) {
		return 0, at, false
	}
	if v = float32(wide); n.negative {
		v = -v
	}
	return v, n.next, true
}

// Float64 is Float32 for a float64.
func Float64(text []byte, at int, point byte) (v float64, next int, ok bool) {
	n := scan(text, at, point)
	if n.next == at || n.digits > 1<<53 {
		return 0, at, false
	}
	if v, ok = n.near(); !ok { // exact operands: only the result is rounded
		return 0, at, false
	}
	if n.negative {
		v = -v
	}
	return v, n.next, true
}

// Int reads the integer of up to 18 digits at byte at of text, and returns the position after it. ok is false if there is
// none, or a longer one.
func Int(text []byte, at int) (v int64, next int, ok bool) {
	i, negative := at, false
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		negative = text[i] == '-'
		i++
	}
	first := i
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		v = 10*v + int64(text[i]-'0')
	}
	if i == first || i-first > 18 {
		return 0, at, false
	}
	if negative {
		v = -v
	}
	return v, i, true
}

// number is digits times a power of ten.
type number struct {
	digits   uint64
	exponent int
	negative bool
	next     int // position after the number, or its start if there is none
}

// maxDigits is the number of digits that always fit in a uint64.
const maxDigits = 19

// scan reads a number without rounding it.
func scan(text []byte, at int, point byte) number {
	n := number{next: at}
	i := at
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		n.negative = text[i] == '-'
		i++
	}
	first := i
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		n.digits = 10*n.digits + uint64(text[i]-'0')
	}
	count := i - first
	if i < len(text) && text[i] == point {
		i++
		fraction := i
		for i+8 <= len(text) {
			eight := binary.LittleEndian.Uint64(text[i:])
			if !allDigits(eight) {
				break
			}
			n.digits = 1e8*n.digits + valueOf(eight)
			i += 8
		}
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			n.digits = 10*n.digits + uint64(text[i]-'0')
		}
		n.exponent = fraction - i
		count += i - fraction
	}
	if count == 0 || count > maxDigits && count-leadingZeros(text[first:i], point) > maxDigits {
		return number{next: at}
	}
	if i < len(text) && text[i]|' ' == 'e' {
		e, next, ok := Int(text, i+1)
		if !ok || e > 1000 || e < -1000 {
			return number{next: at}
		}
		n.exponent += int(e)
		i = next
	}
	n.next = i
	return n
}

// leadingZeros counts the zeros before the first nonzero digit.
func leadingZeros(text []byte, point byte) int {
	n := 0
	for _, c := range text {
		if c == '0' {
			n++
		} else if c != point {
			break
		}
	}
	return n
}

// allDigits reports whether eight bytes are decimal digits: their upper halves are 3, even after adding 6.
func allDigits(eight uint64) bool {
	const high, six, three = 0xf0f0f0f0f0f0f0f0, 0x0606060606060606, 0x3030303030303030
	return eight&high == three && (eight+six)&high == three
}

// valueOf returns the number that eight digits form. It joins neighbours to 2, 4 and 8 digits.
func valueOf(eight uint64) uint64 {
	eight &= 0x0f0f0f0f0f0f0f0f
	eight = (eight*10 + eight>>8) & 0x00ff00ff00ff00ff
	eight = (eight*100 + eight>>16) & 0x0000ffff0000ffff
	return (eight*10000 + eight>>32) & 0xffffffff
}

// powers are the powers of ten that a float64 represents exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// near returns the number without its sign, with one rounding of the digits and one of the product.
func (n number) near() (float64, bool) {
	v := float64(n.digits)
	switch e := n.exponent; {
	case n.digits == 0 || e == 0:
		return v, true
	case e < 0 && -e < len(powers):
		return v / powers[-e], true
	case e > 0 && e < len(powers):
		return v * powers[e], true
	}
	return 0, false
}
