package wav

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// file returns a WAV file with an extra chunk.
func file(code, channels, rate, bits int, data []byte) []byte {
	le := binary.LittleEndian
	form := le.AppendUint32(le.AppendUint16(le.AppendUint16(nil, uint16(code)), uint16(channels)), uint32(rate))
	form = le.AppendUint16(le.AppendUint16(le.AppendUint32(form, uint32(rate*channels*bits/8)), uint16(channels*bits/8)), uint16(bits))
	if code == codeExtensible {
		form = le.AppendUint16(append(form, 22, 0, byte(bits), 0, 0, 0, 0, 0), codeFloat)
		form = append(form, make([]byte, 14)...)
	}
	b := []byte("RIFF\x00\x00\x00\x00WAVE")
	for _, c := range []struct {
		id   string
		body []byte
	}{{"LIST", []byte("odd")}, {"fmt ", form}, {"data", data}} {
		b = append(le.AppendUint32(append(b, c.id...), uint32(len(c.body))), c.body...)
		b = append(b, make([]byte, len(c.body)%2)...)
	}
	return b
}

func Example() {
	s, err := Decode(file(1, 2, 8000, 16, []byte{0, 0x40, 0, 0x80, 0, 0, 0xff, 0x7f}))
	fmt.Println(s.Rate, s.Channels, s.Frames(), s.At(0, 0), s.At(0, 1), s.At(1, 0), err)
	// Output: 8000 2 2 0.5 -1 0 <nil>
}

func TestDecode(t *testing.T) {
	le := binary.LittleEndian
	for name, c := range map[string]struct {
		code, bits int
		data       []byte
		want       []float32
	}{
		"8 bits":     {1, 8, []byte{0, 128, 192}, []float32{-1, 0, .5}},
		"16 bits":    {1, 16, []byte{0, 0x80, 0, 0x20}, []float32{-1, .25}},
		"24 bits":    {1, 24, []byte{0, 0, 0x80, 0, 0, 0x20, 0xff, 0xff, 0xff}, []float32{-1, .25, -1.0 / (1 << 23)}},
		"32 bits":    {1, 32, []byte{0, 0, 0, 0x80, 0, 0, 0, 0x40}, []float32{-1, .5}},
		"float32":    {3, 32, le.AppendUint32(nil, math.Float32bits(1.5)), []float32{1.5}},
		"float64":    {3, 64, le.AppendUint64(nil, math.Float64bits(-.125)), []float32{-.125}},
		"extensible": {codeExtensible, 32, le.AppendUint32(nil, math.Float32bits(.75)), []float32{.75}},
		"part":       {1, 16, []byte{0, 0x20, 7}, []float32{.25}},
		"none":       {1, 16, nil, nil},
	} {
		s, err := Decode(file(c.code, 1, 8000, c.bits, c.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []float32
		for i := range s.Frames() {
			got = append(got, s.At(i, 0))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, expected %v", name, got, c.want)
		}
	}
	endless := file(1, 1, 8000, 8, []byte{192, 192})
	copy(endless[len(endless)-6:], "\xff\xff\xff\xff")
	if s, err := Decode(endless); err != nil || s.Frames() != 2 {
		t.Errorf("a file of unknown length: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := file(1, 1, 8000, 16, []byte{1, 2, 3, 4})
	for want, b := range map[string][]byte{
		"not a WAV file":        []byte("text"),
		"not a WAV file: it":    nil,
		"cut short: its header": good[:len(good)-1],
		"has no samples":        good[:48],
		"format 6 with 8 bits":  file(6, 1, 8000, 8, nil),
		"1 with 12 bits":        file(1, 1, 8000, 12, nil),
		"3 with 16 bits":        file(3, 1, 8000, 16, nil),
		"0 channels":            file(1, 0, 8000, 16, nil),
		"of 0 samples a second": file(1, 1, 0, 16, nil),
		"its format has 2":      []byte("RIFF\x00\x00\x00\x00WAVEfmt \x02\x00\x00\x00\x01\x00"),
		"before its format":     []byte("RIFF\x00\x00\x00\x00WAVEdata\x00\x00\x00\x00"),
	} {
		if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// FuzzDecode: every sample of a decoded file can be read, and Parse16 returns whole frames.
func FuzzDecode(f *testing.F) {
	f.Add(file(1, 2, 8000, 16, []byte{1, 2, 3, 4}))
	f.Add(file(codeExtensible, 1, 8000, 32, []byte{1, 2, 3, 4}))
	f.Add([]byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x01\x02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := Decode(b); err == nil && s.Frames() > 0 {
			for c := range s.Channels {
				s.At(0, c)
				s.At(s.Frames()-1, c)
			}
		}
		if strict, err := Parse16(b); err == nil && len(strict.Samples)%(2*strict.Channels) != 0 {
			t.Fatalf("%d bytes of samples of %d channels", len(strict.Samples), strict.Channels)
		}
	})
}
