package jpeg

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnnounced: memory that an image claims is refused, or reserved before it is allocated.
func TestAnnounced(t *testing.T) {
	for _, file := range []string{"testdata/2x2_23x37.jpg", "testdata/2x2_23x37-progressive.jpg", "testdata/gray.jpg"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(data, []byte{0, 23, 0, 37})
		for _, size := range []string{"\xff\xdc\xff\xdc", "\x30\x00\x30\x00"} {
			copy(data[at:], size)
			asked := false
			err := Decode(data, Options{}, func(h, w, c int) ([]byte, error) {
				asked = true
				return nil, errors.New("no room")
			})
			if asked || !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s of %q: asked for pixels: %v, %v", file, size, asked, err)
			}
		}
		copy(data[at:], "\x04\x00\x04\x00")
		refuse := errors.New("no room")
		err = Decode(data, Options{Reserve: func(int) error { return refuse }}, func(h, w, c int) ([]byte, error) { return make([]byte, h*w*c), nil })
		if !errors.Is(err, refuse) {
			t.Errorf("%s: expected that planes are asked for, got %v", file, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err = Decode(data, Options{Interrupted: ctx.Err}, func(h, w, c int) ([]byte, error) { return make([]byte, h*w*c), nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: expected that it ends with its context, got %v", file, err)
		}
	}
}

// TestManyScans: a progressive image with too many scans is refused.
func TestManyScans(t *testing.T) {
	data, err := os.ReadFile("testdata/2x2_23x37-progressive.jpg")
	if err != nil {
		t.Fatal(err)
	}
	scan := data[bytes.LastIndex(data, []byte{0xFF, markerSOS}) : len(data)-2]
	many := append(bytes.Clone(data[:len(data)-2]), bytes.Repeat(scan, 300)...)
	err = Decode(append(many, 0xFF, markerEOI), Options{}, func(h, w, c int) ([]byte, error) { return make([]byte, h*w*c), nil })
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "scans") {
		t.Errorf("got %v, expected that there are too many scans", err)
	}
}

// FuzzDecode: no data causes a panic, and the pixels have the requested size.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jpg")
	if err != nil || len(files) == 0 {
		f.Fatal(err, files)
	}
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, byte(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, how byte) {
		o := Options{Ratio: 1 << (how & 3), Plain: how&4 != 0, Accurate: how&8 != 0, Recover: how&16 != 0, Channels: []int{0, 1, 3, 3}[how>>5&3]}
		if how&128 != 0 {
			o.Crop = &Window{1, 2, 3, 4}
		}
		o.Reserve = func(n int) error {
			if n > 1<<24 {
				return errors.New("no room")
			}
			return nil
		}
		err := Decode(data, o, func(h, w, c int) ([]byte, error) {
			if h*w*c > 1<<22 {
				return nil, errors.New("no room")
			}
			return make([]byte, h*w*c), nil
		})
		if _, e := ReadHeader(data); e != nil && err == nil {
			t.Errorf("decoded, but without a header: %v", e)
		}
	})
}
