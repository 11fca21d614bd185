package glyphs_test

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs/glyphs"
)

func ExampleDraw() {
	image := make([]byte, glyphs.Pixels)
	for i := range int64(5) {
		fmt.Print(glyphs.Draw(image, 7, i), " ")
	}
	// Output: 7 6 9 0 9
}
