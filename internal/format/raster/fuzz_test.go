package raster

import (
	"errors"
	"testing"
)

// room allocates only small images.
func room(n int) ([]byte, error) {
	if n > 1<<22 {
		return nil, errors.New("no room")
	}
	return make([]byte, n), nil
}

// always never interrupts.
func always() error { return nil }

// FuzzDecode: no data makes any of the decoders panic.
func FuzzDecode(f *testing.F) {
	for _, channels := range []int{1, 2, 3, 4} {
		for _, size := range []int{1, 2} {
			data, err := EncodePNG(Pixels{make([]byte, 5*4*channels*size), 5, 4, channels, size}, -1, always)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, byte(channels))
		}
	}
	f.Add([]byte("GIF89a\x02\x00\x01\x00\x80\x00\x00\x01\x02\x03\x04\x05\x06!\xf9\x04\x01\x00\x00\x01\x00,\x00\x00\x00\x00\x02\x00\x01\x00\x00\x02\x02\x44\x05\x00;"), byte(0))
	f.Add([]byte("BM\x3e\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x18\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x00\x04\x05\x06\x00"), byte(3))
	f.Fuzz(func(t *testing.T, data []byte, how byte) {
		channels := []int{0, 1, 3, 4}[how&3]
		_ = DecodePNG(data, channels, how&4 != 0, always, func(h, w, c, b int) ([]byte, error) { return room(h * w * c * b) })
		_ = DecodeGIF(data, how&4 != 0, always, func(n, h, w int) ([]byte, error) { return room(n * h * w * 3) })
		if channels != 1 {
			_ = DecodeBMP(data, channels, func(h, w, c, b int) ([]byte, error) { return room(h * w * c * b) })
		}
	})
}

// TestAnnounced: images that claim more than their bytes hold are refused before anything is allocated.
func TestAnnounced(t *testing.T) {
	data, err := EncodePNG(Pixels{[]byte{1}, 1, 1, 1, 1}, -1, always)
	if err != nil {
		t.Fatal(err)
	}
	p := &png{}
	if err := p.read(data); err != nil {
		t.Fatal(err)
	}
	large := chunk([]byte(pngMagic), "IHDR", []byte{0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20, 8, 0, 0, 0, 0})
	large = append(large, data[33:]...)
	gif := []byte("GIF89a\x02\x00\x01\x00\x80\x00\x00\x01\x02\x03\x04\x05\x06,\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x02\x44\x05\x00;")
	asked := errors.New("asked")
	for name, err := range map[string]error{
		"png": DecodePNG(large, 0, false, always, func(_, _, _, _ int) ([]byte, error) { return nil, asked }),
		"gif": DecodeGIF(gif, false, always, func(_, _, _ int) ([]byte, error) { return nil, asked }),
	} {
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %v, expected that it is refused", name, err)
		}
	}
}
