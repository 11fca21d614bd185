package tfrecord

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"testing"

	"pgregory.net/rapid"
)

func write(t interface{ Fatal(...any) }, records ...[]byte) []byte {
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func readAll(b []byte) (records [][]byte, err error) {
	r := NewReader(bytes.NewReader(b))
	for {
		rec, err := r.Next()
		if err != nil {
			return records, err
		}
		records = append(records, bytes.Clone(rec))
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "records")
		got, err := readAll(write(t, want...))
		if err != io.EOF || len(got) != len(want) {
			t.Fatalf("%d of %d records, %v", len(got), len(want), err)
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("record %d: %x, want %x", i, got[i], want[i])
			}
		}
	})
}

// The bytes come from an independent implementation of the format.
func TestKnownBytes(t *testing.T) {
	got := hex.EncodeToString(write(t, []byte("abc")))
	if want := "0300000000000000b099490e6162636e57f121"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestEveryFlipAndTruncationIsSeen(t *testing.T) {
	good := write(t, []byte("first"), []byte("second record"))
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		_, err := readAll(bad)
		var ce *CorruptError
		if !errors.As(err, &ce) {
			t.Fatalf("flip at %d: %v", i, err)
		}
		recs, err := readAll(good[:i])
		if i == 0 || i == 21 {
			if err != io.EOF {
				t.Fatalf("cut at %d: %v", i, err)
			}
			continue
		}
		if !errors.As(err, &ce) || !errors.Is(err, io.ErrUnexpectedEOF) || len(recs) != min(1, i/21) {
			t.Fatalf("cut at %d: %d records, %v", i, len(recs), err)
		}
		if ce.Offset != int64(min(1, i/21)*21) {
			t.Fatalf("cut at %d: offset %d", i, ce.Offset)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(write(f, []byte("abc"), nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		recs, err := readAll(b)
		if err == nil {
			t.Fatal("no end")
		}
		if err == io.EOF && !bytes.Equal(write(t, recs...), b) {
			t.Fatal("accepted bytes do not round trip")
		}
	})
}

func Example() {
	var b bytes.Buffer
	w := NewWriter(&b)
	_ = w.Write([]byte("hello"))
	rec, err := NewReader(&b).Next()
	fmt.Printf("%s %v\n", rec, err)
	// Output: hello <nil>
}
