package eager

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func queueAttrs(shared string, d tensor.DType) graph.Attrs {
	return graph.Attrs{"component_types": []tensor.DType{d}, "shapes": []graph.Shape{graph.ShapeOf()}, "capacity": int64(3), "shared_name": []byte(shared)}
}

// TestQueues: nodes enqueue elements one by one and many at once, and dequeue them; queues are found by container, name and session.
func TestQueues(t *testing.T) {
	s := newSession(t)
	types := graph.Attrs{"component_types": []tensor.DType{tensor.Int64}}
	for _, v2 := range []string{"", "V2"} {
		q := s.run("FIFOQueue"+v2, queueAttrs("q"+v2, tensor.Int64))
		s.run("QueueEnqueue"+v2, nil, q, int64(1))
		s.run("QueueEnqueueMany"+v2, nil, q, []int64{2, 3})
		again := s.run("FIFOQueue"+v2, queueAttrs("q"+v2, tensor.Int64))
		s.expect(s.run("QueueSize"+v2, nil, again), "int32[] 3")
		s.expect(s.run("QueueDequeue"+v2, types, q), "int64[] 1")
		two := Value{T: tensor.Scalar(int32(2))}
		s.expect(s.run("QueueDequeueMany"+v2, types, q, two), "int64[2] 2 3")
		s.run("QueueEnqueue"+v2, nil, q, int64(4))
		s.run("QueueClose"+v2, nil, q)
		s.expect(s.run("QueueIsClosed"+v2, nil, q), "bool[] 1")
		s.expect(s.run("QueueDequeueUpTo"+v2, types, q, two), "int64[1] 4")
		s.refuse("FIFOQueue 'q"+v2+"' is closed and has insufficient elements (requested 2, current size 0)", "QueueDequeueUpTo"+v2, types, q, two)
		s.refuse("FIFOQueue 'q"+v2+"' is closed.", "QueueEnqueue"+v2, nil, q, int64(5))
		s.refuse("Shared queue 'q"+v2+"' has component types int64 but requested component types were float", "FIFOQueue"+v2, queueAttrs("q"+v2, tensor.Float32))
		s.refuse("expected components of the types", "QueueDequeue"+v2, graph.Attrs{"component_types": []tensor.DType{tensor.Float32}}, q)
		s.refuse("DequeueManyOp requested -1 < 0 elements", "QueueDequeueMany"+v2, types, q, Value{T: tensor.Scalar(int32(-1))})
		s.refuse("at most", "QueueDequeueMany"+v2, types, q, Value{T: tensor.Scalar(int32(1 << 30))})
		s.refuse("Timeout not supported yet.", "QueueEnqueue"+v2, graph.Attrs{"timeout_ms": int64(5)}, q, int64(5))
	}
	s.refuse("expected a queue", "QueueSizeV2", nil, s.run("VarHandleOp", graph.Attrs{"dtype": tensor.Int64, "shape": graph.ShapeOf(), "shared_name": []byte("v")}))
}

// TestQueuesOfSessions: a queue without a shared name belongs to its session.
func TestQueuesOfSessions(t *testing.T) {
	s := newSession(t)
	one := func(session string) Value {
		s.env.Session = session
		return s.run("FIFOQueueV2", queueAttrs("", tensor.Int64))
	}
	a := one("a")
	if one("a").Resource != a.Resource || one("b").Resource == a.Resource {
		t.Error("sessions a and b share a queue, or session a has two")
	}
	shared := s.run("FIFOQueueV2", queueAttrs("q", tensor.Int64))
	s.env.Resources.Forget("a")
	if one("a").Resource == a.Resource || s.run("FIFOQueueV2", queueAttrs("q", tensor.Int64)).Resource != shared.Resource {
		t.Error("session a's queue is still there, or the shared one is not")
	}
	s.env.Resources.Clear()
	if s.run("FIFOQueueV2", queueAttrs("q", tensor.Int64)).Resource == shared.Resource {
		t.Error("the container was cleared, and the queue is still there")
	}
}
