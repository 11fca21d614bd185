package hostmemory_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/hostmemory"
)

// A cache uses a quarter of the memory, or 1 GiB if the memory is unknown.
func Example() {
	size := int64(1 << 30)
	if total, ok := hostmemory.Total(); ok {
		size = total / 4
	}
	available, ok := hostmemory.Available()
	fmt.Println(size > 0, ok == (available > 0))
	// Output: true true
}
