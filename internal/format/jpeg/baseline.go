package jpeg

import "encoding/binary"

// baseline decodes a block of a one-pass image. It keeps the reader's state in local variables: this is the hot loop.
func (s *scan) baseline(c *component, block *[64]int16) {
	if size := int(s.symbol(c.dc) & 15); size > 0 {
		c.last += extend(s.take(size), size)
	}
	block[0] = int16(c.last)
	h, data := c.ac, s.reader.data
	acc, n, pos := s.acc, s.n, s.pos
	for k := 1; k < 64; {
		if n < 32 {
			if pos+8 <= len(data) {
				w := binary.BigEndian.Uint64(data[pos:])
				if clean(w) {
					acc |= w >> (n & 63)
					pos += (63 - n) >> 3
					n |= 56
					goto full
				}
			}
			s.acc, s.n, s.pos = acc, n, pos
			s.slow()
			acc, n, pos = s.acc, s.n, s.pos
		}
	full:
		e := h.fast[acc>>(64-look)]
		acc <<= e & 31
		n -= int(e & 31)
		if e&direct != 0 {
			k += int(e >> 8 & 15)
			block[natural[k&127]&63] = int16(e >> 16)
			k++
			continue
		}
		symbol := int(e >> 8)
		if e == 0 {
			s.acc, s.n, s.pos = acc, n, pos
			symbol = int(s.symbol(h))
			acc, n, pos = s.acc, s.n, s.pos
		}
		size := symbol & 15
		k += symbol >> 4
		if size == 0 {
			if symbol != 0xF0 {
				break
			}
			k++
			continue
		}
		// A code has up to 16 bits, and at least 32 were valid, so 16 are left.
		v := int32(acc >> ((64 - size) & 63))
		acc <<= size & 63
		n -= size
		block[natural[k&127]&63] = int16(extend(v, size))
		k++
	}
	s.acc, s.n, s.pos = acc, n, pos
}

// clean reports whether no byte of w is 0xFF.
func clean(w uint64) bool { return (^w-0x0101010101010101)&w&0x8080808080808080 == 0 }
