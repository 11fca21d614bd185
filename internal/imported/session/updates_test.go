package session_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
)

// counterModel is a model whose signature "add" adds one to the variable v in each iteration of a loop up to x, in a branch that the
// loop's body calls, and returns the number of iterations; "read" returns x plus v. No signature updates the variable w.
func counterModel(t *testing.T) *session.Session {
	t.Helper()
	const variable = `op: "VarHandleOp" ` + number + ` attr { key: "shape" value { shape {} } }`
	const carried = `attr { key: "T" value { list { type: DT_INT64 type: DT_INT64 type: DT_RESOURCE } } }`
	const shared = `attr { key: "shared_name" value { s: "v" } }`
	args := `input_arg { name: "i" type: DT_INT64 } input_arg { name: "n" type: DT_INT64 } input_arg { name: "r" type: DT_RESOURCE } `
	text := `node { name: "x" op: "Placeholder" ` + number + ` attr { key: "shape" value { shape {} } } } node ` + constant("zero", "0") + ` node ` + constant("one", "1") + `
		node { name: "v" ` + variable + shared + ` } node { name: "w" ` + variable + ` attr { key: "shared_name" value { s: "w" } } }
		node { name: "start" op: "AssignVariableOp" input: "v" input: "zero" ` + number + ` } node { name: "start_w" op: "AssignVariableOp" input: "w" input: "one" ` + number + ` }
		node { name: "loop" op: "While" input: "zero" input: "x" input: "v" attr { key: "cond" value { func { name: "cond" } } } attr { key: "body" value { func { name: "body" } } } ` + carried + ` }
		node { name: "value" op: "ReadVariableOp" input: "v" ` + number + ` } node { name: "value_w" op: "ReadVariableOp" input: "w" ` + number + ` }
		node { name: "sum" op: "AddV2" input: "value" input: "x" ` + numeric + ` } node { name: "y" op: "Mul" input: "sum" input: "value_w" ` + numeric + ` }
		library {
			function { signature { name: "cond" ` + args + ` output_arg { name: "b" type: DT_BOOL } }
				node_def { name: "less" op: "Less" input: "i" input: "n" ` + numeric + ` } ret { key: "b" value: "less:z:0" } }
			function { signature { name: "body" ` + args + ` output_arg { name: "j" type: DT_INT64 } output_arg { name: "m" type: DT_INT64 } output_arg { name: "s" type: DT_RESOURCE } is_stateful: true }
				node_def { name: "yes" op: "Less" input: "i" input: "n" ` + numeric + ` }
				node_def { name: "more" op: "If" input: "yes:z:0" input: "i" input: "r" attr { key: "then_branch" value { func { name: "count" } } } attr { key: "else_branch" value { func { name: "stay" } } }
					attr { key: "Tcond" value { type: DT_BOOL } } attr { key: "Tin" value { list { type: DT_INT64 type: DT_RESOURCE } } } attr { key: "Tout" value { list { type: DT_INT64 } } } }
				ret { key: "j" value: "more:output:0" } ret { key: "m" value: "n" } ret { key: "s" value: "r" } }
			function { signature { name: "stay" input_arg { name: "i" type: DT_INT64 } input_arg { name: "r" type: DT_RESOURCE } output_arg { name: "j" type: DT_INT64 } } ret { key: "j" value: "i" } }
			function { signature { name: "count" input_arg { name: "i" type: DT_INT64 } input_arg { name: "r" type: DT_RESOURCE } output_arg { name: "j" type: DT_INT64 } is_stateful: true }
				node_def ` + constant("one", "1") + ` node_def { name: "add" op: "AssignAddVariableOp" input: "r" input: "one:output:0" ` + number + ` }
				node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" input: "^add" ` + numeric + ` } ret { key: "j" value: "next:z:0" } control_ret { key: "add" value: "add" } } }`
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(text), gd); err != nil {
		t.Fatal(err)
	}
	info := func(name string) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{"t": {Encoding: &pb.TensorInfo_Name{Name: name}, Dtype: types_go_proto.DataType_DT_INT64}}
	}
	sigs := map[string]*pb.SignatureDef{"add": {Inputs: info("x:0"), Outputs: info("loop:0")}, "read": {Inputs: info("x:0"), Outputs: info("y:0")}}
	s, err := session.Load(t.Context(), &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sigs, InitOps: []string{"start", "start_w"}, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sigs}}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// runs returns the value of a fetch for x.
func runs(t *testing.T, s *session.Session, fetch string, x int64) int64 {
	out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.Scalar(x)}, []string{fetch})
	if err != nil {
		t.Error(err)
		return -1
	}
	return tensor.Values[int64](out[0])[0]
}

// TestUpdatesInLoops: a variable that a loop's body updates in a branch has the updates of all requests, and none of the dry run.
func TestUpdatesInLoops(t *testing.T) {
	s := counterModel(t)
	if got := runs(t, s, "y:0", 100); got != 100 {
		t.Errorf("after the load: got %d, expected 100", got)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if got := runs(t, s, "loop:0", 3); got != 3 {
					t.Errorf("got %d turns, expected 3", got)
				}
				if got := runs(t, s, "y:0", 0); got%3 != 0 {
					t.Errorf("got %d: half of a request's updates", got)
				}
			}
		})
	}
	all.Wait()
	if got := runs(t, s, "y:0", 0); got != 4*5*3 {
		t.Errorf("got %d updates, expected 60", got)
	}
}

// TestUpdatesWaitedFor: requests that wait for a very long loop end with their contexts, whether they update or read; once the loop
// has ended, requests are served.
func TestUpdatesWaitedFor(t *testing.T) {
	s := counterModel(t)
	long, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(long, map[string]*tensor.Tensor{"x:0": tensor.Scalar[int64](math.MaxInt64)}, []string{"loop:0"})
		ended <- err
	}()
	for _, fetch := range []string{"y:0", "loop:0"} {
		for { // until the loop has begun
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			_, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": tensor.Scalar[int64](0)}, []string{fetch})
			late := ctx.Err() != nil
			cancel()
			if long.Err() != nil {
				t.Fatalf("%s waited until the other had ended: %v", fetch, err)
			}
			if err != nil && (!late || status.Code(err) != codes.DeadlineExceeded) {
				t.Fatalf("%s: %v", fetch, err)
			}
			if err != nil {
				break
			}
		}
	}
	stop()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("the long one: %v, expected that it was cancelled", err)
	}
	if got := runs(t, s, "loop:0", 3); got != 3 {
		t.Errorf("afterwards: got %d turns, expected 3", got)
	}
}

// TestReferencesFetched: a reference variable, its Identity and the result of an update share memory. Fetched, they have the value at the
// end of the run, as in TensorFlow; nodes that read the value before an update keep the old one.
func TestReferencesFetched(t *testing.T) {
	const typed = `attr { key: "T" value { type: DT_INT64 } }`
	text := `node { name: "x" op: "Placeholder" ` + number + ` attr { key: "shape" value { shape {} } } }
		node { name: "v" op: "VariableV2" ` + number + ` attr { key: "shape" value { shape {} } } } node ` + constant("one", "1") + `
		node { name: "start" op: "Assign" input: "v" input: "one" ` + typed + ` }
		node { name: "read" op: "Identity" input: "v" ` + typed + ` }
		node { name: "old" op: "AddV2" input: "read" input: "x" ` + typed + ` }
		node { name: "add" op: "AssignAdd" input: "v" input: "x" input: "^old" ` + typed + ` }
		node { name: "after" op: "Identity" input: "read" input: "^add" ` + typed + ` }
		node { name: "new" op: "AddV2" input: "read" input: "x" input: "^add" ` + typed + ` }
		node { name: "last" op: "AssignAdd" input: "add" input: "x" input: "^new" ` + typed + ` }`
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(text), gd); err != nil {
		t.Fatal(err)
	}
	info := func(names ...string) map[string]*pb.TensorInfo {
		all := map[string]*pb.TensorInfo{}
		for _, name := range names {
			all[name] = &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: name + ":0"}, Dtype: types_go_proto.DataType_DT_INT64}
		}
		return all
	}
	sigs := map[string]*pb.SignatureDef{"add": {Inputs: info("x"), Outputs: info("v", "read", "old", "add", "after", "new", "last")}, "read": {Inputs: info("x"), Outputs: info("v", "read", "old")}}
	s, err := session.Load(t.Context(), &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sigs, InitOps: []string{"start"}, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sigs}}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		fetches []string
		want    []int64
	}{
		{[]string{"v:0", "read:0", "old:0"}, []int64{1, 1, 6}},
		{[]string{"v:0", "read:0", "old:0", "add:0", "after:0", "new:0", "last:0", "v:0"}, []int64{11, 11, 6, 11, 11, 11, 11, 11}},
		{[]string{"read:0", "after:0", "old:0"}, []int64{16, 16, 16}},
		{[]string{"read:0"}, []int64{16}},
	} {
		out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.Scalar(int64(5))}, c.fetches)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range out {
			if got := tensor.Values[int64](v)[0]; got != c.want[i] {
				t.Errorf("%v: %s is %d, expected %d", c.fetches, c.fetches[i], got, c.want[i])
			}
		}
	}
}
