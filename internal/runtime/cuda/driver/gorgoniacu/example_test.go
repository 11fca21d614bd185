//go:build cu

package gorgoniacu_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/gorgoniacu"
)

func ExampleOpen() {
	d, err := gorgoniacu.Open()
	fmt.Println(d != nil, err)
	// Output: true <nil>
}
