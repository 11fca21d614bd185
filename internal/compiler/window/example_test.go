package window_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/window"
)

// A convolution of 5 filters of 3x3 over images of 8x8 with 3 channels, in steps of two.
func Example() {
	conv := &graph.Node{Op: "Conv2D", Attrs: graph.Attrs{"strides": []int64{1, 2, 2, 1}, "padding": []byte("VALID")}}
	attrs, err := window.Read(conv)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := attrs.Conv2D([]int{10, 8, 8, 3}, []int{3, 3, 3, 5})
	fmt.Println(window.Result(w), err)
	_, err = attrs.Conv2D([]int{10, 2, 2, 3}, []int{7, 7, 3, 5})
	fmt.Println(err != nil)
	// Output:
	// [10 3 3 5] <nil>
	// true
}
