package session

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// TestServedModelsHaveNoQueues: a request would wait for another one.
func TestServedModelsHaveNoQueues(t *testing.T) {
	queue := &graph.Node{Name: "q", Op: "FIFOQueueV2"}
	s := &Session{doubtful: map[*graph.Node]error{}}
	err := s.checkNodes([]*plan{{nodes: []*graph.Node{queue, {Name: "take", Op: "QueueDequeueV2"}, {Name: "c", Op: "NoOp"}}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "FIFOQueueV2 (node q, 1 in all), QueueDequeueV2 (node take, 1 in all)") {
		t.Errorf("got %v", err)
	}
}
