package kernels

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestPutColumns: parts of rows of any size are put into their columns, and other columns stay.
func TestPutColumns(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{0, 1, 3, 4, 8, 16, 17, 32, 64, 128, 200} {
		for _, rows := range []int{0, 1, 7, 5000} {
			for _, beside := range []int{0, 5} {
				at := Columns{From: beside, Size: size, Row: size + 2*beside}
				dst, src := make([]byte, rows*at.Row), make([]byte, rows*size)
				for i := range src {
					src[i] = byte(draw.Uint32())
				}
				for i := range dst {
					dst[i] = byte(draw.Uint32())
				}
				want := bytes.Clone(dst)
				for i := range rows {
					copy(want[i*at.Row+at.From:], src[i*size:(i+1)*size])
				}
				if PutColumns(dst, src, at); !bytes.Equal(dst, want) {
					t.Errorf("%d rows, %+v: wrong bytes", rows, at)
				}
			}
		}
	}
}
