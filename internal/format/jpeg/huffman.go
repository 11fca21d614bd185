package jpeg

import (
	"encoding/binary"
	"fmt"
)

// look is the number of bits looked up at once.
const look = 10

// huffman is a table of codes. An entry of fast is 0 for a code longer than look bits. Otherwise its low 5 bits are the number of bits
// to take. If direct is set, bits 8 to 15 are the number of zeros before the coefficient, which is the upper half; else bits 8 to
// 15 are the symbol.
type huffman struct {
	fast    [1 << look]uint32
	limit   [18]int32 // the first longer code, extended to 16 bits
	offset  [17]int32 // from a code of each length to its position in symbols
	symbols [256]byte
}

const direct = 0x80

func (f *frame) readHuffman(body []byte) error {
	for len(body) > 0 {
		if len(body) < 17 {
			return fmt.Errorf("%w: a Huffman table of %d bytes", ErrFormat, len(body))
		}
		id, n := body[0]&15, 0
		for _, c := range body[1:17] {
			n += int(c)
		}
		if id > 3 || body[0] > 0x1F || n > 256 || len(body) < 17+n {
			return fmt.Errorf("%w: Huffman table %#x of %d codes", ErrFormat, body[0], n)
		}
		h, err := newHuffman(body[1:17], body[17:17+n], body[0] > 15)
		if err != nil {
			return err
		}
		if body[0] > 15 {
			f.ac[id] = h
		} else {
			f.dc[id] = h
		}
		body = body[17+n:]
	}
	return nil
}

// newHuffman makes a table from the number of codes of each length, and the symbols.
func newHuffman(counts, symbols []byte, ac bool) (*huffman, error) {
	h := &huffman{}
	copy(h.symbols[:], symbols)
	code, at := int32(0), int32(0)
	for n := 1; n <= 16; n++ {
		h.offset[n] = at - code
		for range counts[n-1] {
			if n <= look {
				h.fill(code, n, h.symbols[at], ac)
			}
			code++
			at++
		}
		if code > 1<<n {
			return nil, fmt.Errorf("%w: too many Huffman codes of %d bits", ErrFormat, n)
		}
		h.limit[n] = code << (16 - n)
		code <<= 1
	}
	h.limit[17] = 1 << 20
	if !ac {
		for _, s := range symbols {
			if s > 15 {
				return nil, fmt.Errorf("%w: a difference of %d bits", ErrFormat, s)
			}
		}
	}
	return h, nil
}

// fill sets the entries for bits that begin with a code of n bits.
func (h *huffman) fill(code int32, n int, symbol byte, ac bool) {
	if code >= 1<<n {
		return // refused later
	}
	size := int(symbol & 15)
	for rest := range int32(1) << (look - n) {
		bits := code<<(look-n) | rest
		e := uint32(n) | uint32(symbol)<<8
		if ac && size > 0 && n+size <= look {
			v := extend(int32(bits)>>(look-n-size)&(1<<size-1), size)
			e = uint32(n+size) | direct | uint32(symbol>>4)<<8 | uint32(uint16(v))<<16
		}
		h.fast[bits] = e
	}
}

// extend returns the coefficient that size bits encode.
func extend(v int32, size int) int32 {
	negative := (v - 1<<((size-1)&31)) >> 31
	return v + negative&(-1<<(size&31)+1)
}

// reader reads the bits of a scan. After the end of the data, or at a marker, it returns zeros.
type reader struct {
	data []byte
	pos  int
	acc  uint64 // the next bits are the upper ones
	n    int    // number of valid bits
	past int    // zero bytes added since the end
}

// refill makes at least 48 bits valid.
func (b *reader) refill() {
	if b.pos+8 <= len(b.data) {
		w := binary.BigEndian.Uint64(b.data[b.pos:])
		if clean(w) {
			b.acc |= w >> b.n
			b.pos += (63 - b.n) >> 3
			b.n |= 56
			return
		}
	}
	b.slow()
}

func (b *reader) slow() {
	for b.n <= 56 {
		var v byte
		switch {
		case b.pos >= len(b.data):
			b.past++
		case b.data[b.pos] != 0xFF:
			v = b.data[b.pos]
			b.pos++
		case b.pos+1 < len(b.data) && b.data[b.pos+1] == 0:
			v = 0xFF
			b.pos += 2
		default:
			b.past++ // a marker is not consumed
		}
		b.acc &^= 1<<(64-b.n) - 1
		b.acc |= uint64(v) << (56 - b.n)
		b.n += 8
	}
}

// take returns the next n bits, up to 16.
func (b *reader) take(n int) int32 {
	if b.n < n {
		b.refill()
	}
	v := int32(b.acc >> (64 - n))
	b.acc <<= n
	b.n -= n
	return v
}

// symbol reads a code. An invalid code is symbol 0.
func (b *reader) symbol(h *huffman) byte {
	if b.n < 32 {
		b.refill()
	}
	top := int32(b.acc >> 48)
	if e := h.fast[top>>(16-look)]; e != 0 && e&direct == 0 {
		b.acc <<= e & 31
		b.n -= int(e & 31)
		return byte(e >> 8)
	}
	n := 1
	for n <= 16 && top >= h.limit[n] {
		n++
	}
	b.acc <<= min(n, 16)
	b.n -= min(n, 16)
	if n > 16 {
		return 0
	}
	return h.symbols[(top>>(16-n)+h.offset[n])&255]
}

// over reports whether zeros after the end were decoded.
func (b *reader) over() bool { return 8*b.past > b.n }

// begin drops all bits at a restart.
func (b *reader) begin() { b.acc, b.n, b.past = 0, 0, 0 }
