package transport

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// contract is the behaviour that callers and methods may expect from either transport.
var contract = map[string]func(*rig){
	"messages": func(r *rig) {
		for _, sizes := range [][]int{nil, {0}, {1}, {4 << 10}, {5000, 3, 70_000}, {maxWhole}, {believed - 1, believed}, {3<<20 + 1, 7}} {
			r.echoed("x", sizes...)
		}
		r.echoed(strings.Repeat("long ", 100_000))
		many := make([]int, 1500)
		for i := range many {
			many[i] = 4 << 10
		}
		r.echoed("", many...)
	},
	"many calls": func(r *rig) {
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() { r.echoed("a", i*17, (i%5)*300_000) })
		}
		all.Wait()
	},
	"errors": func(r *rig) {
		for _, text := range []string{"", "a text", "ä\x00\n", strings.Repeat("long ", 400)} {
			var trailer metadata.MD
			_, err := call[rpcs.MakeCallableResponse](r.t.Context(), r, "MakeCallable", &rpcs.MakeCallableRequest{SessionHandle: text, RequestId: 7}, grpc.Trailer(&trailer))
			s := status.Convert(err)
			if s.Code() != codes.Aborted || s.Message() != text {
				r.t.Errorf("got %v", err)
			}
			if d := s.Details(); len(d) != 1 || !proto.Equal(d[0].(proto.Message), &rpcs.MakeCallableRequest{RequestId: 7}) {
				r.t.Errorf("details %v", d)
			}
			if got := trailer.Get("why"); len(got) != 1 || got[0] != "as asked" {
				r.t.Errorf("trailer %v", trailer)
			}
		}
		for method, want := range map[string]string{"/tensorflow.MasterService/Nothing": "unknown method Nothing for service tensorflow.MasterService", "/x.Y/Z": "unknown service x.Y"} {
			err := r.conn.Invoke(r.t.Context(), method, &rpcs.RunStepRequest{}, &rpcs.RunStepResponse{})
			if status.Code(err) != codes.Unimplemented || status.Convert(err).Message() != want {
				r.t.Errorf("%s: %v", method, err)
			}
		}
	},
	"metadata": func(r *rig) {
		var header metadata.MD
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(r.t.Context(), "tell", "hello"), time.Minute)
		defer cancel()
		_, err := call[rpcs.ListDevicesResponse](ctx, r, "ListDevices", &rpcs.ListDevicesRequest{}, grpc.Header(&header))
		for key, want := range map[string]string{"told": "hello", "peer": "known", "deadline": "known"} {
			if got := header.Get(key); err != nil || len(got) != 1 || got[0] != want {
				r.t.Errorf("%s: got %v, %v", key, got, err)
			}
		}
	},
	"deadline": func(r *rig) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := call[rpcs.CloseSessionResponse](ctx, r, "CloseSession", &rpcs.CloseSessionRequest{})
		if status.Code(err) != codes.DeadlineExceeded {
			r.t.Errorf("got %v", err)
		}
		if _, err := call[rpcs.RunStepResponse](ctx, r, "RunStep", &rpcs.RunStepRequest{}); status.Code(err) != codes.DeadlineExceeded {
			r.t.Errorf("after it: got %v", err)
		}
	},
	"cancellation": func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		got := make(chan error)
		go func() {
			_, err := call[rpcs.CloseSessionResponse](ctx, r, "CloseSession", &rpcs.CloseSessionRequest{})
			got <- err
		}()
		<-r.began
		r.echoed("beside it", 2<<20)
		cancel()
		if err := <-got; status.Code(err) != codes.Canceled {
			r.t.Errorf("the client got %v", err)
		}
		if err := <-r.ended; err == nil {
			r.t.Error("the method was not cancelled")
		}
	},
	"refused memory": func(r *rig) {
		_, err := call[rpcs.RunStepResponse](r.t.Context(), r, "RunStep", requestOf("", 100<<20))
		if status.Code(err) != codes.ResourceExhausted && !strings.Contains(err.Error(), "memory") {
			r.t.Errorf("got %v", err)
		}
		r.echoed("after it", 1<<20)
		until(r.t, "nothing is held", func() bool { return r.memory.Used() == 0 })
	},
	"token": func(r *rig) {
		r.conn.o.PerCall = nil
		ctx := metadata.AppendToOutgoingContext(r.t.Context(), "authorization", "Bearer wrong")
		for range 2 {
			_, err := call[rpcs.RunStepResponse](ctx, r, "RunStep", requestOf("", 3<<20))
			if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "GOESTIMATOR_JOB_TOKEN") {
				r.t.Errorf("got %v", err)
			}
		}
	},
	"the end of the server": func(r *rig) {
		got := make(chan error)
		go func() {
			_, err := call[rpcs.CloseSessionResponse](r.t.Context(), r, "CloseSession", &rpcs.CloseSessionRequest{})
			got <- err
		}()
		<-r.began
		r.stop()
		if err := <-got; status.Code(err) != codes.Unavailable {
			r.t.Errorf("a call that ran: %v", err)
		}
		if _, err := call[rpcs.RunStepResponse](r.t.Context(), r, "RunStep", &rpcs.RunStepRequest{}); status.Code(err) != codes.Unavailable {
			r.t.Errorf("a new call: %v", err)
		}
		r.stop = func() {}
	},
	"the end of the client": func(r *rig) {
		got := make(chan error)
		go func() {
			_, err := call[rpcs.CloseSessionResponse](r.t.Context(), r, "CloseSession", &rpcs.CloseSessionRequest{})
			got <- err
		}()
		<-r.began
		if err := r.conn.Close(); err != nil {
			r.t.Error(err)
		}
		if err := <-got; err == nil {
			r.t.Error("the call went on")
		}
		if err := <-r.ended; err == nil {
			r.t.Error("the method was not cancelled")
		}
		if err := r.conn.Invoke(r.t.Context(), "/"+service.Master+"/RunStep", &rpcs.RunStepRequest{}, &rpcs.RunStepResponse{}); err == nil {
			r.t.Error("a call after the end")
		}
		r.conn, _ = NewConn("127.0.0.1:1", r.conn.o)
	},
}

func TestContract(t *testing.T) {
	for _, w := range ways {
		for name, f := range contract {
			if w.direct == false && name == "token" {
				continue // gRPC does not expose the credentials of a connection
			}
			t.Run(w.name+"/"+name, func(t *testing.T) { f(serve(t, w)) })
		}
	}
}

// requestOf requests an echo of tensors with these sizes.
func requestOf(handle string, sizes ...int) *rpcs.RunStepRequest {
	in := &rpcs.RunStepRequest{SessionHandle: handle}
	for _, n := range sizes {
		in.Feed = append(in.Feed, &for_core_protos_go_proto.NamedTensorProto{Name: "t", Tensor: tensorOf(n)})
	}
	return in
}

// echoed sends tensors and a text, and checks the echo.
func (r *rig) echoed(handle string, sizes ...int) {
	r.t.Helper()
	in := requestOf(handle, sizes...)
	out, err := call[rpcs.RunStepResponse](r.t.Context(), r, "RunStep", in)
	if err != nil {
		r.t.Errorf("tensors of %v bytes: %v", sizes, err)
		return
	}
	if !proto.Equal(out, &rpcs.RunStepResponse{Tensor: in.GetFeed(), StatusErrorMessage: handle}) {
		r.t.Errorf("tensors of %v bytes: the answer is another one", sizes)
	}
}
