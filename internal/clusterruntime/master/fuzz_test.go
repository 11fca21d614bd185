package master

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"google.golang.org/protobuf/proto"
)

// real is a cluster of one worker that runs graphs.
type real struct{ service.Local }

func (real) Tasks() []Task                                { return []Task{{Job: "w"}} }
func (r real) Worker(string, int) (service.Caller, error) { return r.Local, nil }

// FuzzMessages: a master answers any sequence of messages about a session, at the latest when the caller gives up. Nothing is left over.
func FuzzMessages(f *testing.F) {
	seed := func(m proto.Message) []byte {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	f.Add(seed(&rpcs.CreateSessionRequest{GraphDef: graphOf(0, 2)}), seed(&rpcs.ExtendSessionRequest{CurrentGraphVersion: 1, GraphDef: graphOf(2, 4)}), seed(target("", 1)), seed(&rpcs.MakeCallableRequest{}))
	f.Fuzz(func(t *testing.T, create, extend, step, callable []byte) {
		c, e, s, k := &rpcs.CreateSessionRequest{}, &rpcs.ExtendSessionRequest{}, &rpcs.RunStepRequest{}, &rpcs.MakeCallableRequest{}
		for m, data := range map[proto.Message][]byte{c: create, e: extend, s: step, k: callable} {
			if proto.Unmarshal(data, m) != nil {
				return
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		w := worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{{Name: "/job:w/replica:0/task:0/device:CPU:0"}}, Parallel: 2})
		m := New(Task{Job: "w"}, real{w.Methods()}, slog.New(slog.DiscardHandler))
		out, err := m.createSession(ctx, c)
		if err == nil {
			h := out.GetSessionHandle()
			e.SessionHandle, s.SessionHandle, k.SessionHandle = h, h, h
			_, _ = m.runStep(ctx, s) // any error will do, here and below
			_, _ = m.extendSession(ctx, e)
			if made, err := m.makeCallable(ctx, k); err == nil {
				_, _ = m.runCallable(ctx, &rpcs.RunCallableRequest{SessionHandle: h, Handle: made.GetHandle()})
			}
			_, _ = m.runStep(ctx, s)
			if _, err := m.closeSession(ctx, &rpcs.CloseSessionRequest{SessionHandle: h}); err != nil {
				t.Error(err)
			}
		}
		if len(m.sessions) != 0 || m.graphs.Load() != 0 {
			t.Errorf("%d sessions and %d bytes of graphs are left", len(m.sessions), m.graphs.Load())
		}
	})
}
