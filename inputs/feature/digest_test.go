package feature

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// digestString returns string i of the digests, as in testdata/generate.py.
func digestString(i int) []byte {
	if i%5 == 4 {
		return strconv.AppendInt(nil, int64(i)*2654435761-100000000000000, 10)
	}
	n := i * 7919 % 300
	if i%9973 == 0 && i > 0 {
		n = 20000 + i
	}
	block := sha512.Sum512([]byte(strconv.Itoa(i)))
	out := make([]byte, 0, n+len(block))
	for len(out) < n {
		out = append(out, block[:]...)
	}
	return out[:n]
}

// digestRecord returns the strings and integers of the digests.
func digestRecord(n int) arrow.Record {
	s := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	x := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		s.Append(digestString(i))
		x.Append(int64(uint64(i) * 0x9E3779B97F4A7C15))
	}
	fields := []arrow.Field{{Name: "s", Type: arrow.BinaryTypes.Binary}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}
	return array.NewRecord(arrow.NewSchema(fields, nil), []arrow.Array{s.NewArray(), x.NewArray()}, int64(n))
}

func digest(x []int64) string {
	sum := sha256.Sum256(arrow.Int64Traits.CastToBytes(x))
	return hex.EncodeToString(sum[:])
}

// TestHundredThousand: the hashes and crosses of 100,000 strings (empty, long,
// not UTF-8) and integers are TensorFlow's.
func TestHundredThousand(t *testing.T) {
	want := readGolden(t).Digests
	rec := digestRecord(want.Count)
	hash := make([]int64, want.Count)
	for i := range hash {
		hash[i] = int64(Fingerprint64(digestString(i)) % (1<<62 + 1))
	}
	if got := digest(hash); got != want.Hash {
		t.Errorf("hashes of strings differ: %s, want %s", got, want.Hash)
	}
	plan, err := New(Columns{Linear: []Column{
		&HashBucket{Key: "n", Size: 1000003, DType: tensor.Int64},
		&Crossed{Of: []Column{Key("s"), Key("n")}, Size: 1<<61 - 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Apply(context.Background(), rec)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"n/ids": want.HashInts, "n_X_s/ids": want.Cross} {
		values := out.Column(out.Schema().FieldIndices(name)[0]).(*array.List).ListValues().(*array.Int64).Int64Values()
		if got := digest(values); got != want {
			t.Errorf("%s differ: %d ids, %s, want %s", name, len(values), got, want)
		}
	}
}
