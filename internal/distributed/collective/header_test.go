package collective

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/wire"
)

func TestHeadersAreChecked(t *testing.T) {
	for name, h := range map[string]*wire.GroupHeader{
		"no kind": {}, "an unknown kind": {Kind: farewell + 1}, "a kind below 0": {Kind: -1},
		"a rank": {Kind: data, Rank: maxRank + 1}, "a rank that is no int": {Kind: data, Rank: math.MaxUint64},
		"a generation": {Kind: data, Generation: math.MaxUint64},
	} {
		if err := decodeHeader(wire.Encode(h), &wire.GroupHeader{}); !errors.Is(err, errHeader) {
			t.Errorf("%s: %v, expected an error", name, err)
		}
	}
}

// TestHeadersTakeNoMemory: for a header read into a used one, with a text that
// is ignored.
func TestHeadersTakeNoMemory(t *testing.T) {
	text := &wire.GroupText{Text: "all-reduce of 3 tensors"}
	b := encodeHeader(nil, &wire.GroupHeader{Kind: data, Group: 7, Generation: 3, Rank: 1, Call: 9, Layout: 77, Index: 1 << 40}, text)
	var h wire.GroupHeader
	var out []byte
	n := testing.AllocsPerRun(100, func() {
		if err := decodeHeader(b, &h); err != nil {
			t.Fatal(err)
		}
		out = encodeHeader(out[:0], &h, text)
	})
	if n > 0 || !bytes.Equal(out, b) {
		t.Errorf("%g allocations, %x: expected none, %x", n, out, b)
	}
	if got := textOf(b); got.Text != text.Text || got.Mismatch {
		t.Errorf("got %v, expected %v", got, text)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeHeader(nil, &wire.GroupHeader{Kind: hello, Group: 1 << 63, Generation: 5, Rank: 3}, &wire.GroupText{Text: "workers"}))
	f.Add(encodeHeader(nil, &wire.GroupHeader{Kind: data, Call: 9, Layout: 77, Index: 1 << 40}, nil))
	f.Add(encodeHeader(nil, &wire.GroupHeader{Kind: farewell}, &wire.GroupText{Text: "why", Mismatch: true}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again wire.GroupHeader
		if decodeHeader(b, &h) != nil {
			return
		}
		first := encodeHeader(nil, &h, textOf(b))
		if err := decodeHeader(first, &again); err != nil || !bytes.Equal(encodeHeader(nil, &again, textOf(first)), first) {
			t.Fatalf("%v, %v: %v", &h, &again, err)
		}
	})
}
