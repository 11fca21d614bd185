package accept

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	taskstatus "github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
)

// target is a `goestimator server` process under attack.
type target struct {
	t               *testing.T
	address, status string
	allowed         string // the folder of --allow-path
	long            bool   // attacks have their full size
}

// newTarget starts a server with a memory limit of 256 MiB.
func newTarget(t *testing.T) *target {
	t.Helper()
	ports, err := freeport.Reserve(2)
	if err != nil {
		t.Fatal(err)
	}
	x := &target{t: t, address: ports.Address(0), status: ports.Address(1), allowed: t.TempDir()}
	cmd := command(t, "server", "--cluster_spec=local|"+x.address, "--status-address="+x.status, "--max-memory-bytes=268435456", "--allow-path="+x.allowed, "--drain-seconds=2")
	log := newSink()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v\n%s", err, log)
		}
		if err := ports.Close(); err != nil {
			t.Error(err)
		}
	})
	x.settle("at the start", func(taskstatus.State) bool { return true })
	return x
}

// settle waits until the server's state satisfies is, and returns it.
func (x *target) settle(what string, is func(taskstatus.State) bool) (s taskstatus.State) {
	x.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r, err := http.Get("http://" + x.status + "/status.json")
		if err == nil {
			s = taskstatus.State{}
			err = json.NewDecoder(r.Body).Decode(&s)
			r.Body.Close()
		}
		if err == nil && is(s) {
			return s
		}
		if time.Now().After(end) {
			x.t.Fatalf("%s: %+v, %v", what, s, err)
		}
	}
}

// dial opens a separate connection.
func (x *target) dial() (*grpc.ClientConn, service.Caller) {
	x.t.Helper()
	c, err := grpc.NewClient("passthrough:///"+x.address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithInitialWindowSize(65535), grpc.WithInitialConnWindowSize(65535))
	if err != nil {
		x.t.Fatal(err)
	}
	return c, service.Remote{Conn: c, Service: service.Master}
}

// node is a node with pairs of attribute names and values.
func node(name, op string, inputs []string, attrs ...any) *node_def_go_proto.NodeDef {
	n := &node_def_go_proto.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*attr_value_go_proto.AttrValue{}}
	for i := 0; i < len(attrs); i += 2 {
		a := &attr_value_go_proto.AttrValue{}
		switch v := attrs[i+1].(type) {
		case types_go_proto.DataType:
			a.Value = &attr_value_go_proto.AttrValue_Type{Type: v}
		case *tensor_go_proto.TensorProto:
			a.Value = &attr_value_go_proto.AttrValue_Tensor{Tensor: v}
		case int:
			a.Value = &attr_value_go_proto.AttrValue_I{I: int64(v)}
		case bool:
			a.Value = &attr_value_go_proto.AttrValue_B{B: v}
		case string:
			a.Value = &attr_value_go_proto.AttrValue_S{S: []byte(v)}
		case *attr_value_go_proto.NameAttrList:
			a.Value = &attr_value_go_proto.AttrValue_Func{Func: v}
		case []types_go_proto.DataType:
			a.Value = &attr_value_go_proto.AttrValue_List{List: &attr_value_go_proto.AttrValue_ListValue{Type: v}}
		}
		n.Attr[attrs[i].(string)] = a
	}
	return n
}

func sized(d types_go_proto.DataType, dims ...int64) *tensor_go_proto.TensorProto {
	s := &tensor_shape_go_proto.TensorShapeProto{}
	for _, n := range dims {
		s.Dim = append(s.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: n})
	}
	return &tensor_go_proto.TensorProto{Dtype: d, TensorShape: s}
}

const (
	float     = types_go_proto.DataType_DT_FLOAT
	int32Type = types_go_proto.DataType_DT_INT32
	truth     = types_go_proto.DataType_DT_BOOL
	words     = types_go_proto.DataType_DT_STRING
)

func constant(name string, t *tensor_go_proto.TensorProto) *node_def_go_proto.NodeDef {
	return node(name, "Const", nil, "dtype", t.GetDtype(), "value", t)
}

func text(name string, values ...string) *node_def_go_proto.NodeDef {
	t := sized(words, int64(len(values)))
	for _, v := range values {
		t.StringVal = append(t.StringVal, []byte(v))
	}
	return constant(name, t)
}

// run opens a session with a graph, runs the named nodes, or fetches them if the name has a colon, and closes the session. limit bounds the step.
func run(m service.Caller, limit time.Duration, g *graph_go_proto.GraphDef, names ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	made, err := service.Ask[rpcs.CreateSessionResponse](ctx, m, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: g})
	if err != nil {
		return err
	}
	in := &rpcs.RunStepRequest{SessionHandle: made.GetSessionHandle()}
	for _, name := range names {
		if strings.Contains(name, ":") {
			in.Fetch = append(in.Fetch, name)
		} else {
			in.Target = append(in.Target, name)
		}
	}
	step, end := context.WithTimeout(ctx, limit)
	defer end()
	_, err = service.Ask[rpcs.RunStepResponse](step, m, "RunStep", in)
	if _, cerr := service.Ask[rpcs.CloseSessionResponse](ctx, m, "CloseSession", &rpcs.CloseSessionRequest{SessionHandle: made.GetSessionHandle()}); cerr != nil {
		return cerr
	}
	return err
}

func graphOf(nodes ...*node_def_go_proto.NodeDef) *graph_go_proto.GraphDef {
	return &graph_go_proto.GraphDef{Node: nodes}
}

// forever is a loop whose condition is always true.
func forever() *graph_go_proto.GraphDef {
	yes := sized(truth)
	yes.BoolVal = []bool{true}
	return graphOf(constant("x", sized(float)),
		node("enter", "Enter", []string{"x"}, "T", float, "frame_name", "f", "is_constant", false, "parallel_iterations", 10),
		node("merge", "Merge", []string{"enter", "next"}, "T", float, "N", 2),
		constant("yes", yes), node("again", "Enter", []string{"yes"}, "T", truth, "frame_name", "f", "is_constant", true, "parallel_iterations", 10),
		node("cond", "LoopCond", []string{"again"}), node("switch", "Switch", []string{"merge", "cond"}, "T", float),
		node("next", "NextIteration", []string{"switch:1"}, "T", float), node("exit", "Exit", []string{"switch"}, "T", float))
}

// nested is a chain of functions, each calling the next; with cycle, the last calls the first.
func nested(depth int, cycle bool) *graph_go_proto.GraphDef {
	g := graphOf(constant("x", sized(float)), node("call", "PartitionedCall", []string{"x"}, "Tin", []types_go_proto.DataType{float}, "Tout", []types_go_proto.DataType{float}, "f", &attr_value_go_proto.NameAttrList{Name: "f0"}))
	g.Library = &function_go_proto.FunctionDefLibrary{}
	for i := range depth {
		next := fmt.Sprint("f", (i+1)%depth)
		inner := node("inner", "PartitionedCall", []string{"a"}, "Tin", []types_go_proto.DataType{float}, "Tout", []types_go_proto.DataType{float}, "f", &attr_value_go_proto.NameAttrList{Name: next})
		if i == depth-1 && !cycle {
			inner = node("inner", "Identity", []string{"a"}, "T", float)
		}
		out := "inner:output:0"
		g.Library.Function = append(g.Library.Function, &function_go_proto.FunctionDef{
			Signature: &op_def_go_proto.OpDef{Name: fmt.Sprint("f", i), InputArg: []*op_def_go_proto.OpDef_ArgDef{{Name: "a", Type: float}}, OutputArg: []*op_def_go_proto.OpDef_ArgDef{{Name: "b", Type: float}}},
			NodeDef:   []*node_def_go_proto.NodeDef{inner}, Ret: map[string]string{"b": out}})
	}
	return g
}

// clusterAttacks are graphs and the nodes to run or fetch.
func clusterAttacks(x *target) map[string]struct {
	graph *graph_go_proto.GraphDef
	runs  []string
} {
	type attack = struct {
		graph *graph_go_proto.GraphDef
		runs  []string
	}
	one := sized(float, 1<<30)
	one.FloatVal = []float32{1}
	short := sized(words, 1<<26)
	short.StringVal = [][]byte{[]byte(strings.Repeat("s", 1<<16))}
	many := graphOf()
	nodes := 100_000
	if x.long {
		nodes = 1_000_000
	}
	for i := range nodes {
		many.Node = append(many.Node, &node_def_go_proto.NodeDef{Name: fmt.Sprint("n", i), Op: "NoOp"})
	}
	fill := func(n int32) *graph_go_proto.GraphDef {
		dims := sized(int32Type, 1)
		dims.IntVal = []int32{n}
		return graphOf(constant("dims", dims), constant("v", sized(float)), node("fill", "Fill", []string{"dims", "v"}, "T", float, "index_type", int32Type), node("id", "Identity", []string{"fill"}, "T", float))
	}
	save := func(path string) *graph_go_proto.GraphDef {
		prefix := sized(words)
		prefix.StringVal = [][]byte{[]byte(path)}
		return graphOf(constant("prefix", prefix), text("names", "w"), text("slices", ""), constant("w", sized(float)),
			node("save", "SaveV2", []string{"prefix", "names", "slices", "w"}, "dtypes", []types_go_proto.DataType{float}))
	}
	restore := func(path string) *graph_go_proto.GraphDef {
		g := save(path)
		g.Node[4] = node("save", "RestoreV2", []string{"prefix", "names", "slices"}, "dtypes", []types_go_proto.DataType{float})
		return g
	}
	outside := x.t.TempDir()
	if err := os.Symlink(outside, filepath.Join(x.allowed, "link")); err != nil {
		x.t.Fatal(err)
	}
	return map[string]attack{
		"no nodes":           {graphOf(), []string{"x:0"}},
		"nil nodes":          {graphOf(&node_def_go_proto.NodeDef{}, &node_def_go_proto.NodeDef{}), []string{"x"}},
		"a cycle":            {graphOf(node("a", "Identity", []string{"b"}, "T", float), node("b", "Identity", []string{"a"}, "T", float)), []string{"a:0"}},
		"itself":             {graphOf(node("a", "NoOp", []string{"^a"})), []string{"a"}},
		"10^12 elements":     {graphOf(constant("a", sized(float, 1_000_000, 1_000_000))), []string{"a:0"}},
		"one stands for all": {graphOf(constant("a", one), node("b", "Identity", []string{"a"}, "T", float)), []string{"b:0"}},
		"a string repeated":  {graphOf(constant("a", short)), []string{"a:0"}},
		"negative sizes":     {graphOf(constant("a", sized(float, -5, -7))), []string{"a:0"}},
		"sizes overflow":     {graphOf(constant("a", sized(float, 1<<40, 1<<40))), []string{"a:0"}},
		"many nodes":         {many, []string{"n5"}},
		"deep functions":     {nested(10_000, false), []string{"call:0"}},
		"endless functions":  {nested(3, true), []string{"call:0"}},
		"wrong attributes":   {graphOf(node("a", "Fill", []string{"b", "b"}, "T", 5, "index_type", "x"), node("b", "Const", nil, "dtype", true, "value", 1)), []string{"a:0"}},
		"no attributes":      {graphOf(node("a", "Const", nil), node("b", "MatMul", []string{"a", "a"})), []string{"b:0"}},
		"4 GiB":              {fill(1 << 30), []string{"id:0"}},
		"300 MiB":            {fill(75 << 20), []string{"id:0"}},
		"forever":            {forever(), []string{"exit:0"}},
		"outside":            {save(filepath.Join(outside, "w")), []string{"save"}},
		"above":              {save(filepath.Join(x.allowed, "..", "w")), []string{"save"}},
		"by a link":          {save(filepath.Join(x.allowed, "link", "w")), []string{"save"}},
		"the system's files": {restore("/etc/passwd"), []string{"save:0"}},
	}
}

// honest runs a normal client.
func (x *target) honest(after string) {
	x.t.Helper()
	c, m := x.dial()
	defer c.Close()
	sum := graphOf(constant("a", sized(float, 8)), node("b", "AddV2", []string{"a", "a"}, "T", float))
	if err := run(m, time.Minute, sum, "b:0"); err != nil {
		x.t.Errorf("an honest client after %s: %v", after, err)
	}
}

// TestClusterRuntimeHostile: no client can end a server, or make it hold memory or goroutines; the server serves honest clients after each
// attack. Each step is refused, or ends with its client.
func TestClusterRuntimeHostile(t *testing.T) {
	long := thorough(t)
	x := newTarget(t)
	x.long = long
	x.honest("the start")
	begin := x.settle("at the start", func(s taskstatus.State) bool { return s.Connections == 0 && len(s.Sessions) == 0 })
	for name, a := range clusterAttacks(x) {
		c, m := x.dial()
		limit := 20 * time.Second
		if name == "forever" {
			limit = 50 * time.Millisecond
		}
		err := run(m, limit, a.graph, a.runs...)
		if code := grpcstatus.Code(err); name != "many nodes" && (err == nil || code == codes.Internal || code == codes.Unavailable || code == codes.Unknown || name != "forever" && code == codes.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		x.honest(name)
	}
	for name, attack := range map[string]func(){"strange bytes": x.strangeBytes, "a flood of sessions": x.sessions, "a flood of RecvTensor": x.receives, "half a message": x.half, "slow readers": x.slow} {
		attack()
		x.honest(name)
	}
	// The raw client keeps one connection open.
	end := x.settle("after all attacks", func(s taskstatus.State) bool {
		return s.Steps.Running == 0 && s.Connections <= 1 && s.Memory.Goroutines <= begin.Memory.Goroutines+5 && s.Memory.Held <= begin.Memory.Held+64<<20
	})
	t.Logf("begin %+v, end %+v", begin.Memory, end.Memory)
	if files, err := filepath.Glob(filepath.Join(x.allowed, "..", "w*")); err != nil || len(files) > 0 {
		t.Errorf("files outside: %v, %v", files, err)
	}
}

// strangeBytes sends invalid messages to every method.
func (x *target) strangeBytes() {
	c, _ := x.dial()
	defer c.Close()
	for _, method := range []string{"MasterService/CreateSession", "MasterService/RunStep", "MasterService/CloseSession", "MasterService/RunCallable", "MasterService/Nothing", "WorkerService/RunGraph", "WorkerService/RegisterGraph", "WorkerService/RecvTensor", "WorkerService/CleanupAll"} {
		for _, body := range [][]byte{nil, {0xff}, filled(1<<20, []byte{0x0a, 0x00}), filled(1<<20, []byte{0x12, 0x00}), filled(1<<16, []byte{0x0b}), part(1, []byte("no such handle"))} {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			_ = c.Invoke(ctx, "/tensorflow."+method, body, nil, grpc.ForceCodecV2(rawBytes{})) // mostly an error
			if ctx.Err() != nil {
				x.t.Errorf("%s of %d bytes: %v", method, len(body), ctx.Err())
			}
			cancel()
		}
	}
}

// sessions opens more sessions than allowed, and disconnects.
func (x *target) sessions() {
	c, m := x.dial()
	defer c.Close()
	for range 1100 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err := service.Ask[rpcs.CreateSessionResponse](ctx, m, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: graphOf(node("n", "NoOp", nil))})
		cancel()
		if err != nil && grpcstatus.Code(err) != codes.ResourceExhausted {
			x.t.Errorf("CreateSession: %v", err)
			return
		}
	}
}

// receives waits for thousands of tensors that are never sent, and disconnects.
func (x *target) receives() {
	c, _ := x.dial()
	w := service.Remote{Conn: c, Service: service.Worker}
	out, err := service.Ask[rpcs.GetStatusResponse](context.Background(), w, "GetStatus", &rpcs.GetStatusRequest{})
	if err != nil {
		x.t.Error(err)
		return
	}
	own := out.GetDeviceAttributes()[0]
	waiting := 1000
	if x.long {
		waiting = 3000
	}
	done := make(chan struct{})
	for i := range waiting {
		go func() {
			key := fmt.Sprintf("%s;%016x;%s;edge%d;0:0", own.GetName(), own.GetIncarnation(), own.GetName(), i)
			_, _ = service.Ask[rpcs.RecvTensorResponse](context.Background(), w, "RecvTensor", &rpcs.RecvTensorRequest{StepId: int64(i % 100), RendezvousKey: key})
			done <- struct{}{}
		}()
	}
	x.settle("calls that wait", func(s taskstatus.State) bool { return s.Memory.Goroutines > waiting })
	if err := c.Close(); err != nil {
		x.t.Error(err)
	}
	for range waiting {
		<-done
	}
}

// half sends half messages, and pauses until honest clients have been served.
func (x *target) half() {
	raw := admissiontest.NewRawClient(x.t, x.address)
	var ends []func()
	var all sync.WaitGroup
	for range 10 {
		body, end := admissiontest.Stalled(string(admissiontest.Framed(false, 64<<20, make([]byte, 8<<20))))
		ends = append(ends, end)
		all.Go(func() { raw.Call(x.t, "/tensorflow.MasterService/RunStep", body) })
	}
	x.settle("half messages", func(s taskstatus.State) bool { return s.Memory.Held > 64<<20 })
	x.honest("half messages")
	for _, end := range ends {
		end()
	}
	all.Wait()
}

// slow requests large responses, and reads none of them.
func (x *target) slow() {
	c, m := x.dial()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dims := sized(int32Type, 1)
	dims.IntVal = []int32{8 << 20}
	made, err := service.Ask[rpcs.CreateSessionResponse](ctx, m, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: graphOf(constant("dims", dims), constant("v", sized(float)), node("fill", "Fill", []string{"dims", "v"}, "T", float, "index_type", int32Type))})
	if err != nil {
		x.t.Error(err)
		return
	}
	for range 20 {
		s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/tensorflow.MasterService/RunStep")
		if err != nil {
			x.t.Error(err)
			return
		}
		if err := s.SendMsg(&rpcs.RunStepRequest{SessionHandle: made.GetSessionHandle(), Fetch: []string{"fill:0"}}); err != nil {
			x.t.Error(err)
			return
		}
		_ = s.CloseSend()
	}
	s := x.settle("answers on their way", func(s taskstatus.State) bool { return s.Steps.Running == 0 && s.Memory.Held > 64<<20 })
	if s.Memory.Held > s.Memory.Limit {
		x.t.Errorf("%d bytes are held, %d are allowed", s.Memory.Held, s.Memory.Limit)
	}
}
