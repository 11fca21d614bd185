package topn_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/topn"
)

func Example() {
	top := topn.New(2, func(a, b int) bool { return a > b })
	for _, v := range []int{3, 9, 4, 7} {
		top.Push(v)
	}
	fmt.Println(top.Extract())
	// Output: [9 7]
}
