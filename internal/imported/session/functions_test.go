package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
)

const number = `attr { key: "dtype" value { type: DT_INT64 } }`
const numeric = `attr { key: "T" value { type: DT_INT64 } }`
const pair = `attr { key: "T" value { list { type: DT_INT64 type: DT_INT64 } } }`

// constant is a node with a constant number.
func constant(name, value string) string {
	return `{ name: "` + name + `" op: "Const" ` + number + ` attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: ` + value + ` } } } }`
}

// loopModel is a model that runs body, a function of i and n, on 0 and its input, "x" or "k", the constant 5, while i < n; it returns i.
func loopModel(t *testing.T, start, body string) (*session.Session, error) {
	t.Helper()
	text := `node { name: "x" op: "Placeholder" ` + number + ` attr { key: "shape" value { shape {} } } } node ` + constant("k", "5") + loopNode(start, body) + `
		node { name: "y" op: "AddV2" input: "loop" input: "x" ` + numeric + ` }`
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	return modelOfText(ctx, t, text, map[string][2]string{savedmodel.DefaultSignature: {"x:0", "y:0"}}, session.Check{Time: 50 * time.Millisecond})
}

// loopNode is node loop with its functions, and node zero.
func loopNode(start, body string) string {
	return `node ` + constant("zero", "0") + `
		node { name: "loop" op: "While" input: "zero" input: "` + start + `" attr { key: "cond" value { func { name: "cond" } } } attr { key: "body" value { func { name: "body" } } } ` + pair + ` }
		library {
			function { signature { name: "cond" input_arg { name: "i" type: DT_INT64 } input_arg { name: "n" type: DT_INT64 } output_arg { name: "r" type: DT_BOOL } }
				node_def { name: "less" op: "Less" input: "i" input: "n" ` + numeric + ` } ret { key: "r" value: "less:z:0" } }
			function { signature { name: "body" input_arg { name: "i" type: DT_INT64 } input_arg { name: "n" type: DT_INT64 } output_arg { name: "j" type: DT_INT64 } output_arg { name: "m" type: DT_INT64 } } ` + body + `
				ret { key: "m" value: "n" } } }`
}

// modelOfText loads a graph written as text; signatures has the tensors that each signature takes and returns.
func modelOfText(ctx context.Context, t *testing.T, text string, signatures map[string][2]string, c session.Check) (*session.Session, error) {
	t.Helper()
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(text), gd); err != nil {
		t.Fatal(err)
	}
	info := func(name string) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{"t": {Encoding: &pb.TensorInfo_Name{Name: name}}}
	}
	sig := map[string]*pb.SignatureDef{}
	for key, names := range signatures {
		sig[key] = &pb.SignatureDef{Inputs: info(names[0]), Outputs: info(names[1])}
	}
	s, err := session.Load(ctx, &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sig, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sig}}, session.Options{Check: c})
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

// counting is a loop body that adds one.
func counting() string {
	return `node_def ` + constant("one", "1") + ` node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" ` + numeric + ` } ret { key: "j" value: "next:z:0" }`
}

// TestLoops: loops over fed values and over constants.
func TestLoops(t *testing.T) {
	for start, want := range map[string]int64{"x": 7 + 7, "k": 5 + 7} {
		s, err := loopModel(t, start, counting())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.Scalar(int64(7))}, []string{"y:0"})
			if err != nil {
				t.Fatal(err)
			}
			if got := tensor.Values[int64](out[0])[0]; got != want {
				t.Errorf("%s: got %d, expected %d", start, got, want)
			}
		}
	}
}

// TestLoopsGiveBack: memory of one iteration counts until the next one only.
func TestLoopsGiveBack(t *testing.T) {
	s, err := loopModel(t, "x", counting())
	if err != nil {
		t.Fatal(err)
	}
	memory := budget.NewServer(budget.Limits{Server: 64 << 10})
	defer memory.Close()
	a := memory.Open()
	defer a.Close()
	const turns = 20_000
	out, err := s.Run(budget.With(t.Context(), a), map[string]*tensor.Tensor{"x:0": tensor.Scalar(int64(turns))}, []string{"y:0"})
	if err != nil || tensor.Values[int64](out[0])[0] != 2*turns {
		t.Errorf("got %v, %v", out, err)
	}
}

// TestEndlessLoop: a request whose loop does not end fails at its deadline, and the next one is answered.
func TestEndlessLoop(t *testing.T) {
	for _, start := range []string{"x", "k"} {
		s, err := loopModel(t, start, `ret { key: "j" value: "i" }`)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = s.Run(ctx, map[string]*tensor.Tensor{"x:0": tensor.Scalar(int64(7))}, []string{"y:0"})
		stop()
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s: got %v", start, err)
		}
		if start == "k" {
			continue // never ends
		}
		if _, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.Scalar(int64(0))}, []string{"y:0"}); err != nil {
			t.Error(err)
		}
	}
}

// TestFunctionsLack: unsupported nodes inside functions are named when the model is loaded.
func TestFunctionsLack(t *testing.T) {
	_, err := loopModel(t, "x", `node_def { name: "q" op: "Quux" input: "i" } ret { key: "j" value: "q:0" }`)
	if unsupported := (*session.UnsupportedError)(nil); !errors.As(err, &unsupported) && !errors.Is(err, eager.ErrUnsupported) || !strings.Contains(err.Error(), "Quux") || !strings.Contains(err.Error(), "function body") {
		t.Errorf("got %v", err)
	}
}
