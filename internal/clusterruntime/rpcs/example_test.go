package rpcs_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/protobuf/proto"
)

func Example() {
	data, err := proto.Marshal(&rpcs.RunStepRequest{Fetch: []string{"loss:0"}})
	fmt.Printf("%x %v\n", data, err) // field 3, 6 bytes
	// Output: 1a066c6f73733a30 <nil>
}
