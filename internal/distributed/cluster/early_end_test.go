package cluster

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A peer may end a stream at any moment: a Send returns long before its context
// ends, although gRPC drops frames that it is about to queue at that moment.
func TestSendToAStreamThatEnds(t *testing.T) { eachWay(t, testSendToAStreamThatEnds) }

func testSendToAStreamThatEnds(t *testing.T, caller *Node) {
	body := make([]byte, 64<<10)
	streams := 300
	if testing.Short() {
		streams = 60
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range streams {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				s, err := caller.Stream(ctx, ps0, "/test.Echo/TwoThenFail")
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				begin := time.Now()
				for err == nil {
					err = s.Send(&Frame{Body: [][]byte{body}})
				}
				if took := time.Since(begin); took > 30*time.Second || status.Code(err) != codes.Aborted {
					t.Errorf("after %v: %v", took, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}
