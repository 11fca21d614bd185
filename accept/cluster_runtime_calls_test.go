package accept

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	taskstatus "github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// abuser calls methods of a server in abnormal ways.
type abuser struct {
	*target
	ctx                   context.Context
	master, worker, eager service.Caller
}

func (x *target) abuser() (*abuser, func()) {
	c, m := x.dial()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	return &abuser{x, ctx, m, service.Remote{Conn: c, Service: service.Worker}, service.Remote{Conn: c, Service: service.Eager}}, func() {
		cancel()
		if err := c.Close(); err != nil {
			x.t.Error(err)
		}
	}
}

// open opens a session.
func (a *abuser) open(g *graph_go_proto.GraphDef) string {
	made, err := service.Ask[rpcs.CreateSessionResponse](a.ctx, a.master, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: g})
	if err != nil {
		a.t.Errorf("CreateSession: %v", err)
	}
	return made.GetSessionHandle()
}

func (a *abuser) shut(session string) {
	if _, err := service.Ask[rpcs.CloseSessionResponse](a.ctx, a.master, "CloseSession", &rpcs.CloseSessionRequest{SessionHandle: session}); err != nil {
		a.t.Errorf("CloseSession: %v", err)
	}
}

// refused fails unless the error has one of the codes for a client's mistakes.
func (a *abuser) refused(what string, err error, wants ...codes.Code) {
	a.t.Helper()
	got := grpcstatus.Code(err)
	for _, want := range wants {
		if got == want {
			return
		}
	}
	a.t.Errorf("%s: got %v, expected one of %v", what, err, wants)
}

// fed is y = x + x.
func fed() *graph_go_proto.GraphDef {
	return graphOf(node("x", "Placeholder", nil, "dtype", float), node("y", "AddV2", []string{"x", "x"}, "T", float), node("z", "Neg", []string{"y"}, "T", float))
}

func feed(name string) []*for_core_protos_go_proto.NamedTensorProto {
	return []*for_core_protos_go_proto.NamedTensorProto{{Name: name, Tensor: sized(float)}}
}

// partialRuns feeds twice, uses unknown names, and abandons runs.
func (a *abuser) partialRuns() {
	s := a.open(fed())
	setup := func(feeds, fetches []string) (string, error) {
		out, err := service.Ask[rpcs.PartialRunSetupResponse](a.ctx, a.master, "PartialRunSetup", &rpcs.PartialRunSetupRequest{SessionHandle: s, Feed: feeds, Fetch: fetches})
		return out.GetPartialRunHandle(), err
	}
	step := func(run, feeds string, fetches ...string) error {
		in := &rpcs.RunStepRequest{SessionHandle: s, PartialRunHandle: run, Fetch: fetches}
		if feeds != "" {
			in.Feed = feed(feeds)
		}
		_, err := service.Ask[rpcs.RunStepResponse](a.ctx, a.master, "RunStep", in)
		return err
	}
	run, err := setup([]string{"x:0"}, []string{"y:0", "z:0"})
	a.refused("setup", err, codes.OK)
	a.refused("unfed", step(run, "", "y:0"), codes.InvalidArgument)
	a.refused("a strange feed", step(run, "q:0", "y:0"), codes.InvalidArgument)
	a.refused("a strange fetch", step(run, "x:0", "q:0"), codes.InvalidArgument)
	a.refused("fed", step(run, "x:0", "y:0"), codes.OK)
	a.refused("fed twice", step(run, "x:0", "z:0"), codes.InvalidArgument)
	a.refused("fetched twice", step(run, "", "y:0"), codes.InvalidArgument)
	a.refused("no such run", step("17000", "", "y:0"), codes.InvalidArgument)
	_, err = setup([]string{"none:0"}, []string{"none:1"})
	a.refused("unknown names", err, codes.NotFound, codes.InvalidArgument)
	_, err = setup([]string{"x:0", "x:0"}, []string{"y:0", "y:0"})
	a.refused("names twice", err, codes.InvalidArgument)
	refusals := 0
	for range 1000 {
		if _, err := setup([]string{"x:0"}, []string{"y:0", "z:0"}); err != nil {
			a.refused("setup", err, codes.ResourceExhausted)
			refusals++
		}
	}
	if refusals < 700 {
		a.t.Errorf("%d partial runs were refused", refusals)
	}
	a.shut(s)
}

// together calls do concurrently from n goroutines.
func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// floods calls methods that create objects many times.
func (a *abuser) floods() {
	s := a.open(fed())
	together(8, func(int) {
		for range 200 {
			_, err := service.Ask[rpcs.MakeCallableResponse](a.ctx, a.master, "MakeCallable", &rpcs.MakeCallableRequest{SessionHandle: s, Options: &for_core_protos_go_proto.CallableOptions{Feed: []string{"x:0"}, Fetch: []string{"y:0"}}})
			a.refused("MakeCallable", err, codes.OK, codes.ResourceExhausted)
			_, err = service.Ask[rpcs.ListDevicesResponse](a.ctx, a.master, "ListDevices", &rpcs.ListDevicesRequest{SessionHandle: s})
			a.refused("ListDevices", err, codes.OK)
			_, err = service.Ask[rpcs.RunCallableResponse](a.ctx, a.master, "RunCallable", &rpcs.RunCallableRequest{SessionHandle: s, Handle: 1 << 40})
			a.refused("RunCallable", err, codes.InvalidArgument)
		}
	})
	a.shut(s)
}

// graphs registers graphs that are never run.
func (a *abuser) graphs() {
	name := strings.Repeat("n", 128<<10)
	refusals := 0
	var handles []string
	for i := range 400 {
		g := graphOf(node(fmt.Sprint(name, i), "NoOp", nil))
		session := fmt.Sprint("s", i)
		out, err := service.Ask[rpcs.RegisterGraphResponse](a.ctx, a.worker, "RegisterGraph", &rpcs.RegisterGraphRequest{SessionHandle: session, GraphDef: g})
		if err != nil {
			a.refused("RegisterGraph", err, codes.ResourceExhausted)
			refusals++
			continue
		}
		handles = append(handles, out.GetGraphHandle(), session)
	}
	if refusals == 0 {
		a.t.Error("all graphs were registered")
	}
	for i := 0; i < len(handles); i += 2 {
		_, err := service.Ask[rpcs.DeregisterGraphResponse](a.ctx, a.worker, "DeregisterGraph", &rpcs.DeregisterGraphRequest{GraphHandle: handles[i], SessionHandle: handles[i+1]})
		a.refused("DeregisterGraph", err, codes.OK)
	}
}

// versions extends a session with wrong versions from many goroutines.
func (a *abuser) versions() {
	made, err := service.Ask[rpcs.CreateSessionResponse](a.ctx, a.master, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: fed()})
	if err != nil {
		a.t.Error(err)
		return
	}
	s := made.GetSessionHandle()
	var mu sync.Mutex
	extended := 0
	together(32, func(i int) {
		for j := range 20 {
			_, err := service.Ask[rpcs.ExtendSessionResponse](a.ctx, a.master, "ExtendSession", &rpcs.ExtendSessionRequest{SessionHandle: s, CurrentGraphVersion: made.GetGraphVersion() + int64(j), GraphDef: graphOf(node(fmt.Sprint("n", i, "_", j), "NoOp", nil))})
			a.refused("ExtendSession", err, codes.OK, codes.Aborted)
			if err == nil {
				mu.Lock()
				extended++
				mu.Unlock()
			}
		}
	})
	if extended < 1 || extended > 20 {
		a.t.Errorf("%d extensions, expected at most one of each version", extended)
	}
	for _, version := range []int64{-1, 1 << 62} {
		_, err := service.Ask[rpcs.ExtendSessionResponse](a.ctx, a.master, "ExtendSession", &rpcs.ExtendSessionRequest{SessionHandle: s, CurrentGraphVersion: version, GraphDef: graphOf(node("late", "NoOp", nil))})
		a.refused("ExtendSession", err, codes.Aborted)
	}
	a.shut(s)
}

// closes closes sessions while they run, are being set up and are being extended.
func (a *abuser) closes() {
	together(4, func(i int) {
		s := a.open(forever())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				_, err := service.Ask[rpcs.RunStepResponse](a.ctx, a.master, "RunStep", &rpcs.RunStepRequest{SessionHandle: s, Fetch: []string{"exit:0"}})
				a.refused("RunStep", err, codes.Canceled, codes.Aborted)
			})
			all.Go(func() {
				_, err := service.Ask[rpcs.PartialRunSetupResponse](a.ctx, a.master, "PartialRunSetup", &rpcs.PartialRunSetupRequest{SessionHandle: s, Feed: []string{"x:0"}, Fetch: []string{"exit:0"}})
				a.refused("PartialRunSetup", err, codes.OK, codes.Canceled, codes.Aborted)
			})
			all.Go(func() {
				_, err := service.Ask[rpcs.MakeCallableResponse](a.ctx, a.master, "MakeCallable", &rpcs.MakeCallableRequest{SessionHandle: s, Options: &for_core_protos_go_proto.CallableOptions{Fetch: []string{"exit:0"}}})
				a.refused("MakeCallable", err, codes.OK, codes.Canceled, codes.Aborted)
			})
		}
		if i%2 == 0 {
			a.settle("steps", func(s taskstatus.State) bool { return s.Steps.Running > 0 })
		}
		a.shut(s)
		all.Wait()
	})
}

// names uses names and attributes of several megabytes.
func (a *abuser) names() {
	long := strings.Repeat("n", 8<<20)
	for what, g := range map[string]*graph_go_proto.GraphDef{
		"a name": graphOf(node(long, "NoOp", nil)), "an op": graphOf(node("n", long, nil)), "an input": graphOf(node("n", "Identity", []string{long}, "T", float)),
		"an attribute": graphOf(node("n", "NoOp", nil, long, long)), "a device": graphOf(&node_def_go_proto.NodeDef{Name: "n", Op: "NoOp", Device: "/job:" + long}),
		"a class":    graphOf(listed(node("n", "NoOp", nil), "_class", &attr_value_go_proto.AttrValue_ListValue{S: [][]byte{[]byte("loc:@" + long)}})),
		"a variable": graphOf(node("n", "VarHandleOp", nil, "dtype", float, "shared_name", long, "container", long)),
	} {
		err := run(a.master, 20*time.Second, g, g.Node[0].Name)
		if code, text := grpcstatus.Code(err), fmt.Sprint(err); code == codes.Internal || code == codes.Unavailable || code == codes.DeadlineExceeded || len(text) > 10_000 {
			a.t.Errorf("%s: %v, %d bytes", what, code, len(text))
		}
	}
	_, err := service.Ask[rpcs.CloseSessionResponse](a.ctx, a.master, "CloseSession", &rpcs.CloseSessionRequest{SessionHandle: long})
	a.refused("CloseSession", err, codes.Aborted)
	_, err = service.Ask[rpcs.ResetResponse](a.ctx, a.master, "Reset", &rpcs.ResetRequest{Container: []string{long}})
	a.refused("Reset", err, codes.OK)
}

// create creates a context of the EagerService.
func (a *abuser) create(id uint64) error {
	_, err := service.Ask[rpcs.CreateContextResponse](a.ctx, a.eager, "CreateContext", &rpcs.CreateContextRequest{ContextId: id, KeepAliveSecs: 600, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "local",
		Cluster: &for_core_protos_go_proto.ClusterDef{Job: []*for_core_protos_go_proto.JobDef{{Name: "local", Tasks: map[int32]string{0: a.address}}}}}})
	return err
}

func (a *abuser) send(id uint64, op int64, tensors ...*tensor_go_proto.TensorProto) error {
	item := &rpcs.QueueItem{Item: &rpcs.QueueItem_SendTensor{SendTensor: &rpcs.SendTensorOp{OpId: op, DeviceName: "/job:local/replica:0/task:0/device:CPU:0", Tensors: tensors}}}
	_, err := service.Ask[rpcs.EnqueueResponse](a.ctx, a.eager, "Enqueue", &rpcs.EnqueueRequest{ContextId: id, Queue: []*rpcs.QueueItem{item}})
	return err
}

// contexts creates contexts of the EagerService, and fills them.
func (a *abuser) contexts() {
	refusals := 0
	for i := range uint64(1100) {
		if err := a.create(i + 1); err != nil {
			a.refused("CreateContext", err, codes.ResourceExhausted)
			refusals++
		}
	}
	scalar := sized(float)
	scalar.FloatVal = []float32{1}
	many := make([]*tensor_go_proto.TensorProto, 20_000)
	for i := range many {
		many[i] = scalar
	}
	full := 0
	for i := range uint64(60) {
		if err := a.send(i+1, 1, many...); err != nil {
			a.refused("SendTensor", err, codes.ResourceExhausted)
			full++
		}
	}
	if s := a.settle("handles", func(taskstatus.State) bool { return true }); s.Memory.Heap > s.Memory.Limit {
		a.t.Errorf("%d bytes of heap", s.Memory.Heap)
	}
	for i := range uint64(1100) {
		_, err := service.Ask[rpcs.CloseContextResponse](a.ctx, a.eager, "CloseContext", &rpcs.CloseContextRequest{ContextId: i + 1, ContextViewId: 1 << 60})
		a.refused("CloseContext", err, codes.OK)
	}
}

// connections opens connections that send nothing, an incomplete or malformed preface, or another protocol.
func (a *abuser) connections() {
	var open []net.Conn
	for i := range 1500 {
		c, err := net.Dial("tcp", a.address)
		if err != nil {
			a.t.Error(err)
			break
		}
		open = append(open, c)
		_, _ = io.WriteString(c, []string{"", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x00"}[i%6])
	}
	a.honest("1500 connections")
	for _, c := range open {
		_ = c.Close()
	}
}

// statusPage requests the status page in abnormal ways.
func (a *abuser) statusPage() {
	for _, path := range []string{"/", "/status.json", "/healthz", "/monitoring/prometheus/metrics", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/debug/pprof/", "/" + strings.Repeat("a", 1<<16)} {
		r, err := http.Get("http://" + a.status + path)
		if err != nil {
			a.t.Error(err)
			continue
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			a.t.Error(err)
		}
		if bytes.Contains(body, []byte("root:")) || bytes.Contains(body, []byte(a.allowed)) {
			a.t.Errorf("%s shows paths: %s", path, body)
		}
	}
	r, err := http.Post("http://"+a.status+"/status.json", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
	if err == nil {
		r.Body.Close()
	}
}

// TestClusterRuntimeHostileCalls: no sequence of calls can make a server hang, hold more memory than allowed, or keep anything after
// the client has left.
func TestClusterRuntimeHostileCalls(t *testing.T) {
	thorough(t)
	x := newTarget(t)
	x.honest("the start")
	begin := x.settle("at the start", func(s taskstatus.State) bool { return s.Connections == 0 && len(s.Sessions) == 0 })
	for _, attack := range []struct {
		name string
		do   func(*abuser)
	}{
		{"partial runs", (*abuser).partialRuns}, {"floods", (*abuser).floods}, {"graphs", (*abuser).graphs}, {"versions", (*abuser).versions}, {"closes", (*abuser).closes},
		{"names", (*abuser).names}, {"contexts", (*abuser).contexts}, {"connections", (*abuser).connections}, {"the status page", (*abuser).statusPage},
	} {
		a, end := x.abuser()
		attack.do(a)
		end()
		x.honest(attack.name)
	}
	end := x.settle("after all attacks", func(s taskstatus.State) bool {
		return s.Steps.Running == 0 && len(s.Sessions) == 0 && s.Connections == 0 && s.Graphs.Count == 0 && s.Memory.Goroutines <= begin.Memory.Goroutines+5 && s.Memory.Held < 1<<20
	})
	t.Logf("begin %+v, end %+v", begin.Memory, end.Memory)
}
