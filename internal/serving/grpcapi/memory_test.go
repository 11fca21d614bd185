package grpcapi_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// raw sends bytes as they are, and drops received ones.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }
func (raw) Name() string                         { return "proto" }

func field(n protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), bytes.Join(parts, nil))
}

func number(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

// input is an entry of the inputs of a PredictRequest.
func input(name string, parts ...[]byte) []byte {
	return field(2, field(1, []byte(name)), field(2, parts...))
}

// of asks the test model for a signature.
func of(signature string) []byte { return field(1, field(1, []byte("m")), field(3, []byte(signature))) }

func shape(dims ...uint64) []byte {
	var all []byte
	for _, d := range dims {
		all = append(all, field(2, number(1, d))...)
	}
	return field(2, all)
}

const mib = 1 << 20

// adversarial are requests that ask for far more memory than their size.
func adversarial() map[string]struct {
	method  string
	message []byte
} {
	type request = struct {
		method  string
		message []byte
	}
	dtype := func(d types_go_proto.DataType) []byte { return number(1, uint64(d)) }
	var names []byte
	for i := range mib / 8 {
		names = append(names, field(2, field(1, []byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676%26), byte('a' + i/17576)}))...)
	}
	list := func(kind protowire.Number, context []byte, n int) []byte {
		examples := bytes.Repeat(field(1), n)
		if context != nil {
			examples = append(examples, field(2, context)...)
		}
		return field(2, field(kind, examples))
	}
	return map[string]request{
		"names":           {"Predict", append(of(""), names...)},
		"empty tensors":   {"Predict", append(of(""), bytes.Repeat(field(2), mib/2)...)},
		"dimensions":      {"Predict", append(of(""), input("x", dtype(1), field(2, bytes.Repeat(field(2), mib/2)))...)},
		"variants":        {"Predict", append(of(""), input("x", dtype(1), bytes.Repeat(field(15), mib/2))...)},
		"resources":       {"Predict", append(of(""), input("x", dtype(1), bytes.Repeat(field(14), mib/2))...)},
		"small integers":  {"Predict", append(of("int64"), input("x", dtype(types_go_proto.DataType_DT_INT64), shape(mib), field(10, make([]byte, mib)))...)},
		"single integers": {"Predict", append(of("int64"), input("x", dtype(types_go_proto.DataType_DT_INT64), shape(mib/2), bytes.Repeat(number(10, 0), mib/2))...)},
		"halves":          {"Predict", append(of("float16"), input("x", dtype(types_go_proto.DataType_DT_HALF), shape(mib), field(13, make([]byte, mib)))...)},
		"empty strings":   {"Predict", append(of("echo"), input("s", dtype(7), shape(mib/2), bytes.Repeat(field(8), mib/2))...)},
		"string content":  {"Predict", append(of("echo"), input("s", dtype(7), shape(mib), field(4, make([]byte, mib)))...)},
		"one value":       {"Predict", append(of(""), input("x", dtype(1), shape(12<<20), field(5, make([]byte, 4)))...)},
		"one string":      {"Predict", append(of("echo"), input("s", dtype(7), shape(60), field(8, make([]byte, mib)))...)},
		"output filter":   {"Predict", append(of(""), bytes.Repeat(field(3), mib/2)...)},
		"examples":        {"Classify", append(of("classify"), list(1, nil, mib/2)...)},
		"context":         {"Classify", append(of("classify"), list(2, field(1, field(1, field(1, bytes.Repeat([]byte("a"), 3000)))), 10_000)...)},
		"regressions":     {"Regress", append(of("regress"), list(1, nil, mib/2)...)},
		"tasks":           {"MultiInference", bytes.Repeat(field(1), mib/2)},
		"models of tasks": {"MultiInference", bytes.Repeat(field(1, field(1)), mib/4)},
		"metadata fields": {"GetModelMetadata", append(field(1, field(1, []byte("m"))), bytes.Repeat(field(2), mib/2)...)},
	}
}

// limited returns a server of the test model with limited memory, and a connection to it.
func limited(t *testing.T, l budget.Limits, m servable.Model) (*budget.Server, *grpc.ClientConn) {
	t.Helper()
	src := &servable.Memory{}
	src.Set(servable.ID{Name: "m", Version: 1}, m)
	limits := grpcapi.Limits{Memory: budget.NewServer(l)}
	lis := bufconn.Listen(mib)
	s := grpc.NewServer(grpcapi.Options(limits)...)
	limits.Register(s, &inference.Service{Models: src}, &grpcapi.Models{Catalog: src})
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(limits.Memory.Close)
	t.Cleanup(s.Stop)
	return limits.Memory, dial(t, lis)
}

// waitReleased waits until all memory is released: replies may still be in transit.
func waitReleased(t *testing.T, memory *budget.Server) {
	t.Helper()
	for end := time.Now().Add(time.Minute); memory.Used() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are still counted", memory.Used())
		}
	}
}

// TestBudget: each adversarial request, compressed or not, is refused with INVALID_ARGUMENT and the flag's name if it would use
// more than five times its size, and all memory is released.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: messages of many megabytes")
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	memory, conn := limited(t, budget.Limits{Server: 1 << 40, Request: 5 * mib}, modeltest.New())
	for name, r := range adversarial() {
		for form, how := range map[string][]grpc.CallOption{"plain": nil, "gzip": {grpc.UseCompressor(gzip.Name)}} {
			err := conn.Invoke(ctx, "/"+grpcapi.PredictionService+"/"+r.method, r.message, nil, append(how, grpc.ForceCodecV2(raw{}))...)
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "--"+budget.RequestFlag) {
				t.Errorf("%s, %s, %d bytes: %v", name, form, len(r.message), err)
			}
		}
		waitReleased(t, memory)
	}
}

// TestBudgetByBytes: a request's memory limit grows with its bytes, not with their compressed size.
func TestBudgetByBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: messages of many megabytes")
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	memory, conn := limited(t, budget.Limits{Server: 1 << 40}, modeltest.New())
	zeros := request("", make([]float32, 6*mib)...) // 24 MiB, and as much comes back
	resp := &apis.PredictResponse{}
	for _, how := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		if err := conn.Invoke(ctx, predictMethod, zeros, resp, append(how, grpc.MaxCallRecvMsgSize(1<<30))...); err != nil || len(resp.GetOutputs()["y"].GetFloatVal()) != 6*mib {
			t.Errorf("%d values: %v", len(resp.GetOutputs()["y"].GetFloatVal()), err)
		}
		waitReleased(t, memory)
	}
	strings := append(of("echo"), input("s", number(1, 7), shape(16*mib), bytes.Repeat(field(8), 16*mib))...)
	if err := conn.Invoke(ctx, predictMethod, strings, nil, grpc.ForceCodecV2(raw{})); status.Code(err) != codes.InvalidArgument {
		t.Errorf("16 million empty strings: %v", err)
	}
	waitReleased(t, memory)
}

// TestServersBudget: while one request holds much memory, another one gets an error that says to try again, whether it is being
// received, decompressed or answered. A model that panics releases its memory, and so does a cancelled call.
func TestServersBudget(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	inside, gate := make(chan struct{}), make(chan struct{})
	inner := modeltest.New()
	m := &servable.Func{Sigs: inner.Signatures(), Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
		inside <- struct{}{}
		select {
		case <-gate:
			panic("it gives back nevertheless")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	memory, conn := limited(t, budget.Limits{Server: 3 * mib}, m)
	big := request("", make([]float32, mib/4)...)
	for _, end := range []func(context.CancelFunc){func(context.CancelFunc) { gate <- struct{}{} }, func(cancel context.CancelFunc) { cancel() }} {
		held, cancel := context.WithCancel(ctx)
		var calls sync.WaitGroup
		calls.Go(func() {
			if err := conn.Invoke(held, predictMethod, big, &apis.PredictResponse{}); err == nil {
				t.Error("it was answered")
			}
		})
		<-inside
		for _, how := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
			err := conn.Invoke(ctx, predictMethod, request("", make([]float32, mib/2)...), &apis.PredictResponse{}, how...)
			if c := status.Code(err); c != codes.ResourceExhausted || !strings.Contains(err.Error(), "--"+budget.ServerFlag) {
				t.Errorf("more than there is: %v", err)
			}
		}
		end(cancel)
		calls.Wait()
		cancel()
		waitReleased(t, memory)
		err := conn.Invoke(ctx, predictMethod, request("", make([]float32, mib)...), &apis.PredictResponse{})
		if c := status.Code(err); c != codes.InvalidArgument || !strings.Contains(err.Error(), "--"+budget.RequestFlag) {
			t.Errorf("more than there ever is: %v", err)
		}
	}
}

// answering is the test model with other answers.
func answering(answer func(string) *tensor.Tensor) servable.Model {
	return &servable.Func{Sigs: modeltest.New().Signatures(), Compute: func(_ context.Context, _ map[string]*tensor.Tensor, fetches []string) (out []*tensor.Tensor, err error) {
		for _, f := range fetches {
			out = append(out, answer(f))
		}
		return out, nil
	}}
}

// TestAnswersAreTheModels: the limit of the request's bytes does not apply to the answer. The limit of all requests does,
// including the copy in which small numbers are sent.
func TestAnswersAreTheModels(t *testing.T) {
	testkit.NotConcurrent(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	pictures := func(string) *tensor.Tensor {
		t := tensor.New(tensor.String, 16)
		for i := range t.Strings {
			t.Strings[i] = make([]byte, 4*mib)
		}
		return t
	}
	numbers := func(string) *tensor.Tensor { return tensor.New(tensor.Uint8, 8*mib) }
	for name, c := range map[string]struct {
		limit  int64
		answer func(string) *tensor.Tensor
		want   codes.Code
	}{
		"64 MiB of strings":                   {1 << 30, pictures, codes.OK},
		"more strings than there is room":     {63 * mib, pictures, codes.InvalidArgument},
		"8 MiB of numbers":                    {1 << 30, numbers, codes.OK},
		"numbers whose copies have no room":   {24 * mib, numbers, codes.InvalidArgument},
		"numbers, where the message has room": {48 * mib, numbers, codes.OK},
	} {
		memory, conn := limited(t, budget.Limits{Server: c.limit}, answering(c.answer))
		if err := conn.Invoke(ctx, predictMethod, request("", 1), &apis.PredictResponse{}, grpc.MaxCallRecvMsgSize(1<<30)); status.Code(err) != c.want {
			t.Errorf("%s: %v, expected %v", name, err, c.want)
		}
		waitReleased(t, memory)
	}
}

// TestRepliesAreHeld: a reply that its client does not receive is accounted for until the client leaves.
func TestRepliesAreHeld(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	memory, conn := limited(t, budget.Limits{Server: 1 << 30}, modeltest.New())
	held, cancel := context.WithCancel(ctx)
	stream, err := conn.NewStream(held, &grpc.StreamDesc{ServerStreams: true}, predictMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(request("", make([]float32, 4*mib)...)); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil { // the reply is on its way
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	if memory.Used() < 15*mib {
		t.Errorf("%d bytes are counted", memory.Used())
	}
	cancel()
	waitReleased(t, memory)
}

// TestCutOffMessages: the received part of a message that does not end is released.
func TestCutOffMessages(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	memory, conn := limited(t, budget.Limits{Server: 1 << 30}, modeltest.New())
	for range 3 {
		unfinished, cancel := context.WithCancel(ctx)
		stream, err := conn.NewStream(unfinished, &grpc.StreamDesc{ClientStreams: true}, predictMethod)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SendMsg(request("", make([]float32, mib)...)); err != nil {
			t.Fatal(err)
		}
		for memory.Used() < 4*mib { // the server has it, and waits for an end that is not sent
			if ctx.Err() != nil {
				t.Fatalf("%d bytes are counted", memory.Used())
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := stream.RecvMsg(&apis.PredictResponse{}); status.Code(err) != codes.Canceled {
			t.Errorf("a call without an end: %v", err)
		}
		waitReleased(t, memory)
	}
	two, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, predictMethod)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := two.SendMsg(request("", 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := two.RecvMsg(&apis.PredictResponse{}); status.Code(err) != codes.Internal {
		t.Errorf("two messages: %v", err)
	}
	waitReleased(t, memory)
	if err := conn.Invoke(ctx, predictMethod, []byte{0xff}, nil, grpc.ForceCodecV2(raw{})); status.Code(err) != codes.Internal {
		t.Errorf("no message: %v", err)
	}
	waitReleased(t, memory)
	var resp apis.PredictResponse
	if err := conn.Invoke(ctx, predictMethod, request("", 1), &resp); err != nil || !proto.Equal(resp.GetModelSpec(), &apis.ModelSpec{Name: "m", SignatureName: "serving_default", VersionChoice: resp.GetModelSpec().GetVersionChoice()}) {
		t.Errorf("%v: %v", &resp, err)
	}
}
