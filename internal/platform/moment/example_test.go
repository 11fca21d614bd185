package moment_test

import (
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/platform/moment"
)

func Example() {
	var used moment.Moment
	fmt.Println(used.Lasts(time.Hour))
	used.Note()
	fmt.Println(used.Lasts(0), used.Lasts(time.Hour))
	// Output:
	// false
	// true false
}
