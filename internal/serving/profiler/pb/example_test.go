package pb_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/profiler/pb"
	"google.golang.org/protobuf/proto"
)

func Example() {
	data, err := proto.Marshal(&pb.ProfileRequest{MaxEvents: 5, HostName: "h"})
	fmt.Printf("%x %v\n", data, err) // field 2, a number; field 7, a byte
	// Output: 10053a0168 <nil>
}
