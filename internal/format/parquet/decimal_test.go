package parquet

import (
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/decimal256"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestDecimalsOfBytes: integers of any length keep their sign (Arrow's package loses bits of negative ones in 256-bit decimals).
func TestDecimalsOfBytes(t *testing.T) {
	mem := memory.NewGoAllocator()
	cases := [][]byte{{0}, {1}, {0xff}, {0x7f}, {0x80}, {0xff, 0}, {0xff, 0xff, 0}, {0, 0xff}, {0x80, 0, 0, 0, 0, 0, 0, 0}, {0x80, 0, 0, 0, 0, 0, 0, 0, 1}, append([]byte{0x81}, make([]byte, 15)...)}
	b := array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)
	for _, c := range cases {
		b.Append(c)
	}
	b.AppendNull()
	a := b.NewArray()
	small, err := decimals128(mem, a)
	if err != nil {
		t.Fatal(err)
	}
	large, err := decimals256(mem, a)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range append(cases, []byte{0}) {
		want := new(big.Int).SetBytes(c)
		if c[0] >= 0x80 {
			want.Sub(want, new(big.Int).Lsh(big.NewInt(1), uint(8*len(c))))
		}
		if got := arrow.Decimal128Traits.CastFromBytes(small.Bytes())[i]; got != decimal128.FromBigInt(want) {
			t.Errorf("%x: %s, expected %s", c, got.BigInt(), want)
		}
		if got := arrow.Decimal256Traits.CastFromBytes(large.Bytes())[i]; got != decimal256.FromBigInt(want) {
			t.Errorf("%x: %s, expected %s", c, got.BigInt(), want)
		}
	}
}

// TestDecimalsOfOtherLengths: values without bytes, or with more bytes than a decimal, are errors.
func TestDecimalsOfOtherLengths(t *testing.T) {
	mem := memory.NewGoAllocator()
	for _, n := range []int{0, 17, 33} {
		b := array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)
		b.Append(make([]byte, n))
		a := b.NewArray()
		if _, err := decimals128(mem, a); err == nil || !strings.Contains(err.Error(), "expected 1 to 16") {
			t.Errorf("%d bytes: got %v", n, err)
		}
		if _, err := decimals256(mem, a); (err == nil) != (n == 17) {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
}
