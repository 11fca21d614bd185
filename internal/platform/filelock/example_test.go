package filelock_test

import (
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/platform/filelock"
)

func ExampleTry() {
	f, err := os.CreateTemp("", "lock")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	fmt.Println(filelock.Try(f))
	// Output: <nil>
}
