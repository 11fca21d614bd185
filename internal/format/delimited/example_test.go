package delimited_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/delimited"
)

func Example() {
	text := []byte("1.5,\"a\nb\"\n2.5,\"c")
	whole := text[:delimited.Whole(text, 0)]
	v, next, ok := delimited.Float32(whole, 0, '.')
	fmt.Printf("%q %v %d %v\n", whole, v, next, ok)
	// Output: "1.5,\"a\nb\"\n" 1.5 3 true
}
