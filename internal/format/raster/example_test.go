package raster_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/raster"
)

func Example() {
	data, err := raster.EncodePNG([]byte{10, 20, 30, 40, 50, 60}, 1, 2, 3, 1, -1)
	if err != nil {
		fmt.Println(err)
		return
	}
	var pixels []byte
	err = raster.DecodePNG(data, 4, false, func(height, width, channels, _ int) ([]byte, error) {
		pixels = make([]byte, height*width*channels)
		return pixels, nil
	})
	fmt.Println(pixels, err)
	// Output: [10 20 30 255 40 50 60 255] <nil>
}
