package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
)

// Feeds are values for a step by name: "x", or "x:1" for the second output of an op. A value may replace any output, not only
// a placeholder's.
type Feeds map[string]*tensor.Tensor

// Run runs a step: it returns the values of fetches, in order, and runs the ops targets for their effects. The end of ctx
// ends the step on all tasks.
func (s *Session) Run(ctx context.Context, feeds Feeds, fetches []string, targets ...string) ([]*tensor.Tensor, error) {
	in := &rpcs.RunStepRequest{SessionHandle: s.handle, Target: targets, StoreErrorsInResponseBody: true}
	for name, t := range feeds {
		p, err := protoOf(name, t)
		if err != nil {
			return nil, err
		}
		in.Feed = append(in.Feed, &for_core_protos_go_proto.NamedTensorProto{Name: output(name), Tensor: p})
	}
	asked := map[string]bool{}
	for _, name := range fetches {
		if full := output(name); !asked[full] {
			asked[full] = true
			in.Fetch = append(in.Fetch, full)
		}
	}
	out, err := service.Ask[rpcs.RunStepResponse](ctx, s.master, "RunStep", in)
	if err != nil {
		return nil, errorOf(err)
	}
	if code := codes.Code(out.GetStatusCode()); code != codes.OK {
		return nil, &Error{code, out.GetStatusErrorMessage()}
	}
	got := map[string]*tensor_go_proto.TensorProto{}
	for _, t := range out.GetTensor() {
		got[t.GetName()] = t.GetTensor()
	}
	values := make([]*tensor.Tensor, len(fetches))
	for i, name := range fetches {
		if values[i], err = tensorOf(name, got[output(name)]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// output returns the full name of an output: "x" is short for "x:0".
func output(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return name + ":0"
}

func protoOf(name string, t *tensor.Tensor) (*tensor_go_proto.TensorProto, error) {
	if t == nil {
		return nil, fmt.Errorf("feed %q: expected a tensor, got nil", name)
	}
	p, err := graphdef.ToTensorProto(t, true)
	if err != nil {
		return nil, fmt.Errorf("feed %q: %w", name, err)
	}
	return p, nil
}

func tensorOf(name string, p *tensor_go_proto.TensorProto) (*tensor.Tensor, error) {
	if p == nil {
		return nil, fmt.Errorf("fetch %q: the server's answer does not have it", name)
	}
	t, err := graphdef.ViewTensorProto(p, nil) // nothing else refers to the response
	if err != nil {
		return nil, fmt.Errorf("fetch %q: %w", name, err)
	}
	return t, nil
}

// Callable is a step that was prepared on the server. It is safe for concurrent use.
type Callable struct {
	session *Session
	handle  int64
	feeds   []string
	fetches []string
}

// Callable prepares a step that is run often: its runs send only values.
func (s *Session) Callable(ctx context.Context, feeds, fetches []string, targets ...string) (*Callable, error) {
	o := &for_core_protos_go_proto.CallableOptions{Target: targets}
	for _, name := range feeds {
		o.Feed = append(o.Feed, output(name))
	}
	for _, name := range fetches {
		o.Fetch = append(o.Fetch, output(name))
	}
	out, err := service.Ask[rpcs.MakeCallableResponse](ctx, s.master, "MakeCallable", &rpcs.MakeCallableRequest{SessionHandle: s.handle, Options: o})
	if err != nil {
		return nil, fmt.Errorf("make a callable: %w", errorOf(err))
	}
	return &Callable{s, out.GetHandle(), o.Feed, o.Fetch}, nil
}

// Run runs the step on values in the order of the callable's feeds. It returns the fetches in order.
func (c *Callable) Run(ctx context.Context, feeds ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	if len(feeds) != len(c.feeds) {
		return nil, fmt.Errorf("callable: %d feeds: expected %d", len(feeds), len(c.feeds))
	}
	in := &rpcs.RunCallableRequest{SessionHandle: c.session.handle, Handle: c.handle}
	for i, t := range feeds {
		p, err := protoOf(c.feeds[i], t)
		if err != nil {
			return nil, err
		}
		in.Feed = append(in.Feed, p)
	}
	out, err := service.Ask[rpcs.RunCallableResponse](ctx, c.session.master, "RunCallable", in)
	if err != nil {
		return nil, errorOf(err)
	}
	if len(out.GetFetch()) != len(c.fetches) {
		return nil, fmt.Errorf("callable: the server sent %d values: expected %d", len(out.GetFetch()), len(c.fetches))
	}
	values := make([]*tensor.Tensor, len(c.fetches))
	for i, name := range c.fetches {
		if values[i], err = tensorOf(name, out.GetFetch()[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Release makes the server forget the callable.
func (c *Callable) Release(ctx context.Context) error {
	_, err := service.Ask[rpcs.ReleaseCallableResponse](ctx, c.session.master, "ReleaseCallable",
		&rpcs.ReleaseCallableRequest{SessionHandle: c.session.handle, Handle: c.handle})
	return errorOf(err)
}
