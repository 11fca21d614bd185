package fault_test

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/fault"
	"google.golang.org/grpc/status"
)

func Example() {
	err := func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fault.New("model m", r)
			}
		}()
		panic("index out of range")
	}()
	text, _, _ := strings.Cut(err.Error(), ":")
	fmt.Println(status.Code(err), text)
	// Output: Internal model m panicked
}
