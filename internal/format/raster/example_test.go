package raster_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/raster"
)

func Example() {
	always := func() error { return nil }
	data, err := raster.EncodePNG(raster.Pixels{Bytes: []byte{10, 20, 30, 40, 50, 60}, Height: 1, Width: 2, Channels: 3, Size: 1}, -1, always)
	if err != nil {
		fmt.Println(err)
		return
	}
	var pixels []byte
	err = raster.DecodePNG(data, 4, false, always, func(height, width, channels, _ int) ([]byte, error) {
		pixels = make([]byte, height*width*channels)
		return pixels, nil
	})
	fmt.Println(pixels, err)
	// Output: [10 20 30 255 40 50 60 255] <nil>
}
