package diskspace_test

import (
	"fmt"
	"runtime"

	"github.com/goestimator/goestimator/internal/platform/diskspace"
)

func Example() {
	n, ok := diskspace.Free(".")
	fmt.Println(ok == (runtime.GOOS == "linux" || runtime.GOOS == "darwin"), n >= 0)
	_, ok = diskspace.Free("no such folder")
	fmt.Println(ok)
	// Output:
	// true true
	// false
}
