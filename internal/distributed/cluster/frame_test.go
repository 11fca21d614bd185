package cluster

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// received returns a frame as received from the wire, in the given chunks.
func received(t *rapid.T, header []byte, body [][]byte) *Frame {
	o, err := newOutgoing(&Frame{Header: header, Body: body}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	f := new(Frame)
	if err := decode(o.encode(), f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCopyToReadsAnyPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 20)).Draw(t, "body")
		header := rapid.SliceOf(rapid.Byte()).Draw(t, "header")
		whole := bytes.Join(body, nil)
		for name, f := range map[string]*Frame{"made": {Header: header, Body: body}, "received": received(t, header, body)} {
			if f.Len() != len(whole) || !bytes.Equal(f.Header, header) {
				t.Fatalf("%s: %d bytes, header %x; want %d, %x", name, f.Len(), f.Header, len(whole), header)
			}
			offset := rapid.IntRange(0, len(whole)+2).Draw(t, "offset")
			dst := make([]byte, rapid.IntRange(0, len(whole)+2).Draw(t, "length"))
			want := whole[min(offset, len(whole)):min(offset+len(dst), len(whole))]
			if n := f.CopyTo(dst, offset); n != len(want) || !bytes.Equal(dst[:n], want) {
				t.Fatalf("%s: %d bytes from %d: got %x, want %x", name, len(dst), offset, dst[:n], want)
			}
		}
	})
}

func TestReleaseTwice(t *testing.T) {
	var none *Frame
	none.Release()
	f := &Frame{Body: [][]byte{{1}}}
	f.Release()
	if f.Len() != 1 {
		t.Error("a frame that was not received lost its body")
	}
	if n := f.CopyTo(make([]byte, 1), -1); n != 0 {
		t.Errorf("copied %d bytes from before the start", n)
	}
}
