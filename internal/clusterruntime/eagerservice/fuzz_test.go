package eagerservice

import (
	"context"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// FuzzMessages: a task answers any request of a client, at the latest when the client gives up.
func FuzzMessages(f *testing.F) {
	seed := func(m proto.Message) []byte {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	add := execute(&rpcs.Operation{Id: 1, Name: "AddV2", OpInputs: []*rpcs.Operation_Input{given(f, 1), given(f, 2)}})
	wait := &rpcs.QueueItem{Item: &rpcs.QueueItem_RegisterFunction{RegisterFunction: waiting()}}
	call := &rpcs.RunComponentFunctionRequest{Operation: &rpcs.Operation{Name: "wait", IsFunction: true, IsComponentFunction: true}}
	f.Add(seed(&rpcs.EnqueueRequest{Queue: []*rpcs.QueueItem{add, wait, addAndDouble()}}), seed(call))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, queue, part []byte) {
		in, run := &rpcs.EnqueueRequest{}, &rpcs.RunComponentFunctionRequest{}
		if proto.Unmarshal(queue, in) != nil || proto.Unmarshal(part, run) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		s, _, _ := newTask("worker")
		if _, err := s.createContext(ctx, &rpcs.CreateContextRequest{ContextId: contextID, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "worker"}}); err != nil {
			t.Fatal(err)
		}
		in.ContextId, run.ContextId = contextID, contextID
		_, _ = s.enqueue(ctx, in) // any error will do
		_, _ = s.runComponentFunction(ctx, run)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
