package device_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
)

func Example() {
	inner, _ := device.Parse("/device:CPU:0")
	outer, _ := device.Parse("/job:ps/task:1")
	fmt.Println(inner.Merge(outer))
	// Output: /job:ps/task:1/device:CPU:0
}
