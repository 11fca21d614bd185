package jpeg_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/jpeg"
)

func Example() {
	gray := make([]byte, 16*8)
	for i := range gray {
		gray[i] = 200
	}
	data, err := jpeg.Encode(gray, jpeg.Encoding{Quality: 90, Height: 8, Width: 16, Channels: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	var pixels []byte
	err = jpeg.Decode(data, jpeg.Options{Channels: 3, Ratio: 2}, func(height, width, channels int) ([]byte, error) {
		fmt.Println(height, width, channels)
		pixels = make([]byte, height*width*channels)
		return pixels, nil
	})
	fmt.Println(pixels[:3], err)
	// Output:
	// 4 8 3
	// [200 200 200] <nil>
}
