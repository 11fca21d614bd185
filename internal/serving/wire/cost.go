package wire

import (
	"github.com/goestimator/goestimator/internal/platform/protocost"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Cost returns the approximate size of m in memory once data is read into it: see [protocost.Of]. The examples of a request stay in one piece.
func Cost(data mem.BufferSlice, m proto.Message) int {
	if inputOf(m) != nil {
		return protocost.Of(data, m, inputField)
	}
	return protocost.Of(data, m, 0)
}
