package pb_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"google.golang.org/protobuf/proto"
)

func Example() {
	data, err := proto.Marshal(&pb.ModelInferRequest{ModelName: "m", RawInputContents: [][]byte{{1}}})
	fmt.Printf("%x %v\n", data, err) // field 1, a byte; field 7, a byte
	// Output: 0a016d3a0101 <nil>
}
