package cluster

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/grpc/mem"
)

// message returns the bytes in chunks of n.
func message(b []byte, n int) mem.BufferSlice {
	var out mem.BufferSlice
	for len(b) > n {
		out, b = append(out, mem.SliceBuffer(b[:n])), b[n:]
	}
	return append(out, mem.SliceBuffer(b))
}

func TestDecodeRefusesWhatIsNoFrame(t *testing.T) {
	huge := append([]byte("GEF\x01"), 0xff, 0xff, 0xff, 0xff)
	for name, b := range map[string][]byte{
		"empty":         {},
		"short":         []byte("GEF\x01\x00"),
		"other version": []byte("GEF\x02\x00\x00\x00\x00"),
		"huge header":   huge,
		"truncated":     append([]byte("GEF\x01"), 3, 0, 0, 0, 'a', 'b'),
	} {
		f := new(Frame)
		if err := decode(message(b, 3), f); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDecodeAllocatesForWhatIsThere(t *testing.T) {
	b := make([]byte, 1<<20)
	copy(b, magic[:])
	binary.LittleEndian.PutUint32(b[4:], 1<<31)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := decode(message(b, 16<<10), new(Frame))
	runtime.ReadMemStats(&after)
	if err == nil || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%v, and %d bytes allocated", err, after.TotalAlloc-before.TotalAlloc)
	}
}

func TestCodecRefusesOtherTypes(t *testing.T) {
	if _, err := (codec{}).Marshal("text"); err == nil {
		t.Error("marshalled a string")
	}
	if err := (codec{}).Unmarshal(nil, new(string)); err == nil {
		t.Error("unmarshalled a string")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("GEF\x01\x02\x00\x00\x00hhbody"), 3)
	f.Add([]byte("GEF\x01\xff\xff\xff\xffx"), 1)
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		var frame Frame
		if err := decode(message(b, 1+(n&0xffff)), &frame); err != nil {
			return
		}
		if prefixLen+len(frame.Header)+frame.Len() != len(b) {
			t.Fatalf("header of %d and body of %d bytes from a message of %d", len(frame.Header), frame.Len(), len(b))
		}
		again := make([]byte, frame.Len()+1)
		if got := frame.CopyTo(again, 0); got != frame.Len() || string(again[:got]) != string(b[prefixLen+len(frame.Header):]) {
			t.Fatal("the body is not the rest of the message")
		}
		frame.Release()
	})
}
