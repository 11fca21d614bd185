package eager

import "math"

// libraryLog1p returns log(1+x) of x in [0, 1]: for float32 with the roundings of the C library of the GNU project (fdlibm's method, in float32),
// which decide between beams that are nearly as probable.
func libraryLog1p[T float](x T) T {
	if v, ok := any(x).(float32); ok {
		return T(libraryLog1p32(v))
	}
	return T(math.Log1p(float64(x)))
}

func libraryLog1p32(x float32) float32 {
	const (
		ln2Hi, ln2Lo = float32(6.9313812256e-01), float32(9.0580006145e-06)
		p1, p2, p3   = float32(6.6666668653e-01), float32(4.0000000596e-01), float32(2.8571429849e-01)
		p4, p5       = float32(2.2222198546e-01), float32(1.8183572590e-01)
		p6, p7       = float32(1.5313838422e-01), float32(1.4798198640e-01)
	)
	if x < 0x1p-29 {
		return x - x*x*0.5
	}
	f, c, k, tiny := x, float32(0), float32(0), false
	if x >= 0.41422 {
		u := 1 + x
		bits := math.Float32bits(u)
		k = float32(int(bits>>23) - 127)
		if c = x - (u - 1); k > 0 {
			c = 1 - (u - x)
		}
		c /= u
		bits &= 1<<23 - 1
		if bits < 0x3504f7 {
			tiny = bits == 0
			u = math.Float32frombits(bits | 0x3f800000)
		} else {
			k++
			tiny = (1<<23-bits)>>2 == 0
			u = math.Float32frombits(bits | 0x3f000000)
		}
		f = u - 1
	}
	if tiny && f == 0 {
		c += k * ln2Lo
		return k*ln2Hi + c
	}
	half := 0.5 * f * f
	if tiny {
		r := half * float32(1-0.66666666666666666*float64(f))
		return k*ln2Hi - ((r - (k*ln2Lo + c)) - f)
	}
	s := f / (2 + f)
	z := s * s
	r := z * (p1 + z*(p2+z*(p3+z*(p4+z*(p5+z*(p6+z*p7))))))
	if k == 0 {
		return f - (half - s*(half+r))
	}
	return k*ln2Hi - ((half - (s*(half+r) + (k*ln2Lo + c))) - f)
}
