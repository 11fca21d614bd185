package eagerservice

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const resource = types_go_proto.DataType_DT_RESOURCE

// TestFunctionOverTasks: a worker runs a function whose variable is on a parameter server; a result that is a resource stays there.
func TestFunctionOverTasks(t *testing.T) {
	r := newRig(t)
	for _, job := range []string{"worker", "ps"} {
		for range 2 { // the same function may be registered again
			if _, err := r.enqueue(job, addAndDouble()); err != nil {
				t.Fatal(err)
			}
		}
	}
	ps := func(item *rpcs.QueueItem) (*rpcs.QueueResponse, error) { return r.enqueue("ps", item) }
	variable(t, ps, "ps", 10, 1)
	variable(t, ps, "ps", 20, 100) // another variable, although its name is the same
	call := func(id int64, v int64, x float32) (*rpcs.QueueResponse, error) {
		in := &rpcs.Operation{Id: id, Name: "f", IsFunction: true, OpInputs: []*rpcs.Operation_Input{kept("ps", v, resource), given(t, x)}}
		return r.enqueue("worker", execute(in))
	}
	for i, want := range []string{"twice", "twice again"} {
		out, err := call(30+int64(i), 10, 2)
		if err != nil || len(out.GetDevice()) != 2 || out.GetDevice()[0] != (task{"worker", 0}).cpu() || out.GetDevice()[1] != (task{"ps", 0}).cpu() {
			t.Fatalf("%s: got %v, %v", want, out, err)
		}
	}
	out, err := r.enqueue("worker", execute(&rpcs.Operation{Id: invalidID, Name: "Neg", Attrs: attrs{"T": typeAttr(float)}, OpInputs: []*rpcs.Operation_Input{kept("worker", 31, float)}}))
	if got := number(t, out, err); got != -10 { // 2 * (1 + 2 + 2)
		t.Errorf("got %v, expected -10", got)
	}
	same := kept("ps", 31, resource)
	same.GetRemoteHandle().OutputNum = 1
	out, err = ps(execute(&rpcs.Operation{Id: invalidID, Name: "ReadVariableOp", Attrs: attrs{"dtype": typeAttr(float)}, OpInputs: []*rpcs.Operation_Input{same}}))
	if got := number(t, out, err); got != 5 {
		t.Errorf("the variable by the function's result: got %v, expected 5", got)
	}
	_, err = call(40, 99, 1)
	wants(t, err, codes.InvalidArgument, "Op ID: 99, Output num: 0")
	wants(t, err, codes.InvalidArgument, "Additional GRPC error information from remote target /job:ps/replica:0/task:0")
	r.becomesDirect("worker")
	r.stop["ps"]()
	_, err = call(41, 10, 1)
	wants(t, err, codes.Unavailable, "GRPC error information from remote target /job:ps/replica:0/task:0")
}

// TestArguments: a function is called with the arguments that it expects.
func TestArguments(t *testing.T) {
	r := newRig(t)
	if _, err := r.enqueue("worker", addAndDouble()); err != nil {
		t.Fatal(err)
	}
	f := &rpcs.Operation{Id: 1, Name: "f", IsFunction: true, OpInputs: []*rpcs.Operation_Input{given(t, 1)}}
	_, err := r.enqueue("worker", execute(f))
	wants(t, err, codes.InvalidArgument, `function "f" takes 2 arguments, got 1`)
	f.OpInputs = append(f.OpInputs, given(t, 1))
	_, err = r.enqueue("worker", execute(f))
	wants(t, err, codes.InvalidArgument, "argument 0 is of type float32, expected resource")
	other := addAndDouble()
	other.GetRegisterFunction().FunctionDef.NodeDef[0].Op = "AssignSubVariableOp"
	_, err = r.enqueue("worker", other)
	wants(t, err, codes.InvalidArgument, "Cannot add function 'f' because a different function with the same name already exists.")
	remove := &rpcs.QueueItem{Item: &rpcs.QueueItem_RemoveFunction{RemoveFunction: &rpcs.RemoveFunctionOp{FunctionName: "f"}}}
	if _, err := r.enqueue("worker", remove); err != nil {
		t.Error(err)
	}
	_, err = r.enqueue("worker", remove)
	wants(t, err, codes.NotFound, "'f' is neither")
}

// TestFunctionReplaced: after a function is removed, another one may have its name, even if other functions call it.
func TestFunctionReplaced(t *testing.T) {
	r := newRig(t)
	calls := &function_go_proto.FunctionDef{
		Signature: &op_def_go_proto.OpDef{Name: "outer", InputArg: []*op_def_go_proto.OpDef_ArgDef{{Name: "x", Type: float}}, OutputArg: []*op_def_go_proto.OpDef_ArgDef{{Name: "y", Type: float}}},
		NodeDef:   []*node_def_go_proto.NodeDef{{Name: "call", Op: "inner", Input: []string{"x"}}},
		Ret:       map[string]string{"y": "call:y:0"},
	}
	inner := func(op string) *function_go_proto.FunctionDef {
		def := proto.Clone(calls).(*function_go_proto.FunctionDef)
		def.Signature.Name, def.Ret["y"] = "inner", "call:y:0"
		def.NodeDef[0] = &node_def_go_proto.NodeDef{Name: "call", Op: op, Input: []string{"x"}, Attr: attrs{"T": typeAttr(float)}}
		return def
	}
	register := func(def *function_go_proto.FunctionDef) {
		t.Helper()
		if _, err := r.enqueue("worker", &rpcs.QueueItem{Item: &rpcs.QueueItem_RegisterFunction{RegisterFunction: &rpcs.RegisterFunctionOp{FunctionDef: def}}}); err != nil {
			t.Fatal(err)
		}
	}
	register(calls)
	for op, want := range map[string]float32{"Neg": -3, "Square": 9} {
		register(inner(op))
		out, err := r.enqueue("worker", execute(&rpcs.Operation{Id: invalidID, Name: "outer", IsFunction: true, OpInputs: []*rpcs.Operation_Input{given(t, 3)}}))
		if got := number(t, out, err); got != want {
			t.Errorf("%s: got %v, expected %v", op, got, want)
		}
		remove := &rpcs.QueueItem{Item: &rpcs.QueueItem_RemoveFunction{RemoveFunction: &rpcs.RemoveFunctionOp{FunctionName: "inner"}}}
		if _, err := r.enqueue("worker", remove); err != nil {
			t.Fatal(err)
		}
	}
}

// waiting is a part of a function that waits for a tensor that is never sent.
func waiting() *rpcs.RegisterFunctionOp {
	text := func(s string) *attr_value_go_proto.AttrValue {
		return &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_S{S: []byte(s)}}
	}
	cpu := task{"worker", 0}.cpu()
	return &rpcs.RegisterFunctionOp{IsComponentFunction: true, FunctionDef: &function_go_proto.FunctionDef{
		Signature: &op_def_go_proto.OpDef{Name: "wait"},
		NodeDef: []*node_def_go_proto.NodeDef{{Name: "r", Op: "_Recv", Attr: attrs{"tensor_name": text("never"), "send_device": text(cpu), "recv_device": text(cpu),
			"send_device_incarnation": {Value: &attr_value_go_proto.AttrValue_I{I: 7}}, "tensor_type": typeAttr(float)}}},
	}}
}

// newStep runs a waiting part again: its number names a new step.
func newStep(t *testing.T, s *Service, in *rpcs.RunComponentFunctionRequest) {
	t.Helper()
	// The context may exist already, with its function.
	_, _ = s.createContext(t.Context(), &rpcs.CreateContextRequest{ContextId: contextID, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "worker"}})
	_, _ = enqueue(t, s, &rpcs.QueueItem{Item: &rpcs.QueueItem_RegisterFunction{RegisterFunction: waiting()}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.runComponentFunction(ctx, in)
		done <- err
	}()
	synctest.Wait()
	select {
	case err := <-done:
		t.Errorf("the step has stayed: %v", err)
	default:
		cancel()
		<-done
	}
	cancel()
}

// TestEnds: a waiting part ends with its caller, with its step and with its context. A step that was ended does not stay.
func TestEnds(t *testing.T) {
	in := &rpcs.RunComponentFunctionRequest{ContextId: contextID, Operation: &rpcs.Operation{Id: invalidID, Name: "wait", IsFunction: true, FuncStepId: 9}}
	for name, end := range map[string]func(t *testing.T, s *Service, cancel func()) error{
		"caller": func(_ *testing.T, _ *Service, cancel func()) error {
			cancel()
			return nil
		},
		"step": func(t *testing.T, s *Service, _ func()) error {
			item := &rpcs.QueueItem{Item: &rpcs.QueueItem_CleanupFunction{CleanupFunction: &rpcs.CleanupFunctionOp{StepId: 9}}}
			_, err := enqueue(t, s, item)
			return err
		},
		"context": func(_ *testing.T, s *Service, _ func()) error {
			_, err := s.closeContext(context.Background(), &rpcs.CloseContextRequest{ContextId: contextID})
			return err
		},
		"service": func(_ *testing.T, s *Service, _ func()) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _, _ := newTask("worker")
				defer func() { _ = s.Close() }()
				if _, err := s.createContext(t.Context(), &rpcs.CreateContextRequest{ContextId: contextID, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "worker"}}); err != nil {
					t.Fatal(err)
				}
				if _, err := enqueue(t, s, &rpcs.QueueItem{Item: &rpcs.QueueItem_RegisterFunction{RegisterFunction: waiting()}}); err != nil {
					t.Fatal(err)
				}
				in.Operation.IsComponentFunction = false
				_, err := s.runComponentFunction(t.Context(), in)
				wants(t, err, codes.Internal, "RunComponentFunction request can only be used to execute component functions.")
				in.Operation.IsComponentFunction = true
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() {
					_, err := s.runComponentFunction(ctx, in)
					done <- err
				}()
				synctest.Wait()
				if err := end(t, s, cancel); err != nil {
					t.Error(err)
				}
				if c := status.Code(<-done); c != codes.Canceled && c != codes.Aborted {
					t.Errorf("got %v", c)
				}
				if name == "step" || name == "context" {
					newStep(t, s, in)
				}
			})
		})
	}
}
