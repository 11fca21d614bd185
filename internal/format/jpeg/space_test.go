package jpeg

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestSpaceOfOthers: no values of an earlier image are in the next image's pixels, even if that is truncated.
func TestSpaceOfOthers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jpg")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	defer func(s func() any) { spaces = sync.Pool{New: s} }(spaces.New)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{len(data), len(data) - len(data)/8, len(data) / 2} {
			for _, o := range []Options{{}, {Recover: true}, {Recover: true, Channels: 1}, {Recover: true, Crop: &Window{0, 0, 1, 1}}, {Recover: true, Ratio: 4}} {
				first := decodedAfter(data[:cut], o, 0)
				if again := decodedAfter(data[:cut], o, 0xA5); !bytes.Equal(first, again) {
					t.Errorf("%s, %d of %d bytes, %+v: pixels differ with what was in memory before", file, cut, len(data), o)
				}
			}
		}
	}
}

// decodedAfter decodes in memory that is filled with a value. It returns no pixels if the image is refused.
func decodedAfter(data []byte, o Options, full byte) (px []byte) {
	spaces = sync.Pool{New: func() any {
		return &space{coefs: filled[int16](1<<16, int16(full)), planes: filled(1<<16, full)}
	}}
	err := Decode(data, o, func(height, width, channels int) ([]byte, error) {
		px = make([]byte, height*width*channels)
		return px, nil
	})
	if err != nil {
		return nil
	}
	return px
}

func filled[T any](n int, v T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}
