package kernels

import "sync/atomic"

const (
	byteGroup = 4  // successive elements of k of a column that are adjacent
	byteStrip = 16 // columns of a strip
)

// PackedBytes is the right operand of products of bytes, in the order in which the micro-kernels read it. Any number of products
// may share it at the same time.
type PackedBytes struct {
	k, n   int
	trans  bool // made from B transposed
	signed bool // made from int8
	// data has strips of columns. A strip has the columns one after the other for every group of k. Elements are int8: 128 is
	// subtracted from unsigned ones. The last group and the last strip are filled with zeros.
	data []byte
	sums []int32 // sums of data's columns

	uses atomic.Uint32 // products of few rows so far
}

// PackBytes copies op(B) [k, n], whose rows are ldb elements apart (b is [n, k] if trans). Its elements are int8 if signed, else
// uint8.
func PackBytes(b []byte, ldb, k, n int, trans, signed bool) *PackedBytes {
	p := &PackedBytes{}
	p.pack(b, ldb, k, n, trans, signed)
	return p
}

func (p *PackedBytes) pack(b []byte, ldb, k, n int, trans, signed bool) {
	rows, cols := k, n
	if trans {
		rows, cols = n, k
	}
	checkRows(len(b), rows, cols, ldb)
	p.k, p.n, p.trans, p.signed = k, n, trans, signed
	size := ceilDiv(n, byteStrip) * p.stripSize()
	if cap(p.data) < size || cap(p.sums) < n {
		p.data, p.sums = aligned[byte](size), make([]int32, n)
	}
	p.data, p.sums = p.data[:size], p.sums[:n]
	clear(p.data)
	clear(p.sums)
	stepK, stepN := ldb, 1
	if trans {
		stepK, stepN = 1, ldb
	}
	flip := p.flip()
	for j := range n {
		column, sum := p.column(j), int32(0)
		for i := range k {
			v := b[i*stepK+j*stepN] ^ flip
			column[i/byteGroup*byteGroup*byteStrip+i%byteGroup] = v
			sum += int32(int8(v))
		}
		p.sums[j] = sum
	}
}

// Unpack restores the matrix that PackBytes read, without gaps between rows: [k, n], or [n, k] if it was transposed.
func (p *PackedBytes) Unpack(b []byte) {
	stepK, stepN := p.n, 1
	if p.trans {
		stepK, stepN = 1, p.k
	}
	flip := p.flip()
	for j := range p.n {
		column := p.column(j)
		for i := range p.k {
			b[i*stepK+j*stepN] = column[i/byteGroup*byteGroup*byteStrip+i%byteGroup] ^ flip
		}
	}
}

// Size returns the rows and columns of op(B).
func (p *PackedBytes) Size() (k, n int) { return p.k, p.n }

// Memory returns the bytes of the operand.
func (p *PackedBytes) Memory() int64 { return int64(cap(p.data)) + 4*int64(cap(p.sums)) }

// flip returns the XOR mask that turns elements of B into elements of data.
func (p *PackedBytes) flip() byte {
	if p.signed {
		return 0
	}
	return 0x80
}

// shift returns how much smaller elements of data are than elements of B.
func (p *PackedBytes) shift() int32 {
	if p.signed {
		return 0
	}
	return 128
}

// groups returns the number of groups of k, at least one.
func (p *PackedBytes) groups() int { return max(1, ceilDiv(p.k, byteGroup)) }

// stripSize returns the bytes of a strip.
func (p *PackedBytes) stripSize() int { return p.groups() * byteGroup * byteStrip }

// column returns data from the first element of column j on.
func (p *PackedBytes) column(j int) []byte {
	return p.data[j/byteStrip*p.stripSize()+j%byteStrip*byteGroup:]
}

// checkRows panics like an out-of-range index if a slice of that length is shorter than its matrix.
func checkRows(length, rows, cols, ld int) {
	if rows < 0 || cols < 0 || rows > 1 && ld < cols {
		panic("kernels: matrix with a negative size or a row stride below its width")
	}
	if rows > 0 && cols > 0 && (rows-1)*ld+cols > length {
		panic("kernels: a matrix is longer than its slice")
	}
}
