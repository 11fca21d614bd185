package rest

// The functions below read len(dst) elements from c on into dst, and return how many they have read: all, or the number
// before the first element of another type, where they leave c.

func floats32(c *cursor, dst []float32) int {
	b := c.d.b
	for i := range dst {
		x, end, ok := readDecimal(b, c.p)
		if ok {
			dst[i] = x.float32(b[c.p:end])
		} else {
			var f float64
			if f, end, ok = special(b, c.p); !ok {
				return i
			}
			dst[i] = float32(f)
		}
		c.separator(end)
	}
	return len(dst)
}

// halves reads numbers as floats32 does, and rounds them to 16 bits.
func halves(c *cursor, dst []uint16, round func(float32) uint16) int {
	var some [64]float32
	done := 0
	for done < len(dst) {
		want := min(len(some), len(dst)-done)
		n := floats32(c, some[:want])
		for i, v := range some[:n] {
			dst[done+i] = round(v)
		}
		if done += n; n < want {
			break
		}
	}
	return done
}

func floats64(c *cursor, dst []float64) int {
	b := c.d.b
	for i := range dst {
		x, end, ok := readDecimal(b, c.p)
		if ok {
			dst[i] = x.float64(b[c.p:end])
		} else if dst[i], end, ok = special(b, c.p); !ok {
			return i
		}
		c.separator(end)
	}
	return len(dst)
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint32 | uint64
}

// ints reads integers from low to high and truncates them to T's width: TensorFlow Serving accepts any 32-bit number for
// a tensor of 8 or 16 bits.
func ints[T integer](c *cursor, dst []T, low int64, high uint64) int {
	b := c.d.b
	for i := range dst {
		x, end, ok := readDecimal(b, c.p)
		switch {
		case !ok || !x.integer:
			return i
		case x.neg && x.m > 0:
			if low == 0 || x.m-1 > uint64(-(low+1)) {
				return i
			}
			dst[i] = T(-x.m)
		case x.m > high:
			return i
		default:
			dst[i] = T(x.m)
		}
		c.separator(end)
	}
	return len(dst)
}

func bools(c *cursor, dst []bool) int {
	b := c.d.b
	for i := range dst {
		switch b[c.p] {
		case 't':
			dst[i] = true
			c.separator(c.p + 4)
		case 'f':
			dst[i] = false
			c.separator(c.p + 5)
		default:
			return i
		}
	}
	return len(dst)
}

// byteStrings reads strings, without copies where possible, and {"b64": "..."}. Its error is about a bad {"b64": "..."}.
func byteStrings(c *cursor, dst [][]byte) (int, error) {
	for i := range dst {
		switch {
		case c.isString(), c.isObject():
			var err error
			if dst[i], err = c.content(c.isObject()); err != nil {
				return i, err
			}
		default:
			return i, nil
		}
		c.skip()
	}
	return len(dst), nil
}
