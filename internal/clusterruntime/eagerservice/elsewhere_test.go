package eagerservice

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
)

// remove is an item that forgets a function.
func remove(name string) *rpcs.QueueItem {
	return &rpcs.QueueItem{Item: &rpcs.QueueItem_RemoveFunction{RemoveFunction: &rpcs.RemoveFunctionOp{FunctionName: name}}}
}

// parts returns how many parts of other tasks' functions a task has.
func (r *rig) parts(job string) (n int) {
	r.t.Helper()
	c, leave, err := r.services[job].find(contextID)
	if err != nil {
		r.t.Fatal(err)
	}
	defer leave()
	c.functions.mu.Lock()
	defer c.functions.mu.Unlock()
	for name := range c.functions.all {
		if strings.HasPrefix(name, "part_") {
			n++
		}
	}
	return n
}

// TestPartsEnd: parts of a function at another task are removed after the function was removed, and with the context, although the other
// one stays.
func TestPartsEnd(t *testing.T) {
	r := newRig(t)
	variable(t, func(item *rpcs.QueueItem) (*rpcs.QueueResponse, error) { return r.enqueue("ps", item) }, "ps", 10, 1)
	do := func(item *rpcs.QueueItem) {
		t.Helper()
		if _, err := r.enqueue("worker", item); err != nil {
			t.Fatal(err)
		}
	}
	next := int64(30)
	call := func() {
		t.Helper()
		next++
		do(execute(&rpcs.Operation{Id: next, Name: "f", IsFunction: true, OpInputs: []*rpcs.Operation_Input{kept("ps", 10, resource), given(t, 2)}}))
	}
	do(addAndDouble())
	call()
	do(remove("f"))
	do(addAndDouble())
	call()
	if n := r.parts("ps"); n < 1 || n > 2 {
		t.Errorf("%d parts, expected that of the function that was removed, if any, and the other one's", n)
	}
	for end := time.Now().Add(time.Minute); r.parts("ps") > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the part of a function that was removed stays")
		}
		runtime.GC()
		call()
	}
	if _, err := r.services["worker"].closeContext(t.Context(), &rpcs.CloseContextRequest{ContextId: contextID}); err != nil {
		t.Fatal(err)
	}
	if n := r.parts("ps"); n != 0 {
		t.Errorf("%d parts stay when the context ends", n)
	}
}

// unary is a function of a number with one op.
func unary(name, op string) *rpcs.QueueItem {
	def := &function_go_proto.FunctionDef{
		Signature: &op_def_go_proto.OpDef{Name: name, InputArg: []*op_def_go_proto.OpDef_ArgDef{{Name: "x", Type: float}}, OutputArg: []*op_def_go_proto.OpDef_ArgDef{{Name: "y", Type: float}}},
		NodeDef:   []*node_def_go_proto.NodeDef{{Name: "call", Op: op, Input: []string{"x"}, Attr: attrs{"T": typeAttr(float)}}},
		Ret:       map[string]string{"y": "call:y:0"},
	}
	return &rpcs.QueueItem{Item: &rpcs.QueueItem_RegisterFunction{RegisterFunction: &rpcs.RegisterFunctionOp{FunctionDef: def}}}
}

// TestReplacedWhileCalled: a call gets the function registered last, even if others call while it is replaced.
func TestReplacedWhileCalled(t *testing.T) {
	r := newRig(t)
	call := func() (*rpcs.QueueResponse, error) {
		return r.enqueue("worker", execute(&rpcs.Operation{Id: invalidID, Name: "f", IsFunction: true, OpInputs: []*rpcs.Operation_Input{given(t, 3)}}))
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			default:
				_, _ = call() // the function may not exist
			}
		}
	}()
	for range 100 {
		for op, want := range map[string]float32{"Neg": -3, "Square": 9} {
			if _, err := r.enqueue("worker", unary("f", op)); err != nil {
				t.Error(err)
			}
			out, err := call()
			if got := number(t, out, err); got != want {
				t.Errorf("%s: got %v, expected %v", op, got, want)
			}
			if _, err := r.enqueue("worker", remove("f")); err != nil {
				t.Error(err)
			}
		}
	}
	close(over)
	<-done
}

// TestFunctionsArePaid: the server's memory bounds the functions of all contexts. Removed ones are released, and the rest with the context.
func TestFunctionsArePaid(t *testing.T) {
	cpu := &device_attributes_go_proto.DeviceAttributes{Name: task{"worker", 0}.cpu(), DeviceType: "CPU", Incarnation: 7}
	memory := budget.NewServer(budget.Limits{Server: 4 << 20})
	defer memory.Close()
	w := worker.New(worker.Config{Devices: []*device_attributes_go_proto.DeviceAttributes{cpu}, Parallel: 2, Memory: memory})
	s := New(Config{Worker: w, Methods: w.Methods(), Devices: []*device_attributes_go_proto.DeviceAttributes{cpu}})
	defer func() { _ = s.Close() }()
	if _, err := s.createContext(t.Context(), &rpcs.CreateContextRequest{ContextId: contextID, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "worker"}}); err != nil {
		t.Fatal(err)
	}
	large := func(name string) *rpcs.QueueItem {
		f := unary(name, "Neg")
		f.GetRegisterFunction().FunctionDef.Signature.Description = strings.Repeat("x", 300<<10)
		return f
	}
	if _, err := enqueue(t, s, large("a")); err != nil {
		t.Fatal(err)
	}
	_, err := enqueue(t, s, large("b"))
	wants(t, err, codes.ResourceExhausted, "")
	if _, err := enqueue(t, s, remove("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := enqueue(t, s, large("b")); err != nil {
		t.Errorf("after another one was removed: %v", err)
	}
	if _, err := s.closeContext(t.Context(), &rpcs.CloseContextRequest{ContextId: contextID}); err != nil {
		t.Fatal(err)
	}
	if n := memory.Used(); n > 300<<10 {
		t.Errorf("%d bytes are still paid for", n)
	}
}
