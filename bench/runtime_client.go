package main

import (
	"context"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// runtimeSession is a session at a server.
type runtimeSession struct {
	conn   *grpc.ClientConn
	master service.Caller
	handle string
	fed    *for_core_protos_go_proto.NamedTensorProto
}

// openRuntime opens a session with the graph of all cases, whose variables have their first values.
func openRuntime(address string) (*runtimeSession, error) {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, err
	}
	s := &runtimeSession{conn: conn, master: service.Remote{Conn: conn, Service: service.Master}}
	g, err := buildRuntime()
	if err != nil {
		return nil, err
	}
	def, err := graphdef.ToGraphDef(g)
	if err != nil {
		return nil, err
	}
	out, err := service.Ask[rpcs.CreateSessionResponse](context.Background(), s.master, "CreateSession",
		&rpcs.CreateSessionRequest{GraphDef: def, Config: &for_core_protos_go_proto.ConfigProto{}})
	if err != nil {
		return nil, err
	}
	s.handle = out.GetSessionHandle()
	x, err := graphdef.ToTensorProto(tensor.Scalar(float32(41)), true)
	if err != nil {
		return nil, err
	}
	s.fed = &for_core_protos_go_proto.NamedTensorProto{Name: "x:0", Tensor: x}
	_, err = s.run(runtimeStep{targets: []string{"init"}})
	return s, err
}

// run runs a step, and returns the element in the middle of what it fetches.
func (s *runtimeSession) run(step runtimeStep) (float64, error) {
	in := &rpcs.RunStepRequest{SessionHandle: s.handle, Fetch: step.fetches, Target: step.targets, Options: &for_core_protos_go_proto.RunOptions{}}
	if step.feed != "" {
		in.Feed = []*for_core_protos_go_proto.NamedTensorProto{s.fed}
	}
	out, err := service.Ask[rpcs.RunStepResponse](context.Background(), s.master, "RunStep", in)
	if err != nil {
		return 0, err
	}
	if len(out.GetTensor()) != len(step.fetches) {
		return 0, fmt.Errorf("expected %d tensors, got %d", len(step.fetches), len(out.GetTensor()))
	}
	if len(step.fetches) == 0 {
		return 0, nil
	}
	t, err := graphdef.ViewTensorProto(out.GetTensor()[0].GetTensor(), nil)
	if err != nil {
		return 0, err
	}
	return t.Float(t.Len() / 2), nil
}

// check runs a step of each case that changes something, and returns what is there then.
func (s *runtimeSession) check() (map[string][]float64, error) {
	all := map[string][]float64{}
	for _, c := range []struct{ name, step, fetch string }{
		{runtimeStep1, runtimeStep1, ""}, {runtimeStep2, runtimeStep2, ""}, {runtimePush, runtimePush, "big/read:0"}, {runtimeFetch, runtimeFetch, ""},
		{runtimePushMany, runtimePushMany, "small50/read:0"}, {runtimeAdagrad, runtimeAdagrad, "rows:0"}, {runtimeScatter, runtimeScatter, "rows:0"},
	} {
		v, err := s.run(runtimeSteps[c.step])
		if err == nil && c.fetch != "" {
			v, err = s.run(runtimeStep{fetches: []string{c.fetch}})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		all[c.name] = []float64{v}
	}
	return all, nil
}

func (s *runtimeSession) close() { _ = s.conn.Close() }
