package protocost_test

import (
	"bytes"
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/protocost"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/grpc/mem"
)

// A thousand empty nodes of two bytes each become messages of more than a hundred.
func Example() {
	nodes := bytes.Repeat([]byte{1<<3 | 2, 0}, 1000)
	n := protocost.Of(mem.BufferSlice{mem.SliceBuffer(nodes)}, &graph_go_proto.GraphDef{}, 0)
	fmt.Println(n > 50*len(nodes))
	// Output: true
}
